//! Order statistics: a few samples in which the machine did something else hardly change them.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The middle value, or the mean of the two in the middle; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// A mean in which values count less the farther away they are: Tukey's biweight (Mosteller and
/// Tukey, *Data Analysis and Regression*, 1977, section 10C). Values farther away than 4.685 times
/// [`mad`], or than the share `far` of the median if that is more, do not count. (With 4.685 it is
/// 95% as efficient as the mean of normally distributed values.) Outliers do not move it. Unlike
/// the median, it changes little when the shares of two nearby values change. `None` without
/// values.
pub fn biweight_mean(values: &[f64], far: f64) -> Option<f64> {
    const DEVIATIONS: f64 = 4.685;
    const STEPS: usize = 50;
    let mut middle = median(values)?;
    let reach = (DEVIATIONS * mad(values)?).max(far * middle.abs());
    if reach == 0.0 {
        return Some(middle);
    }
    for _ in 0..STEPS {
        let weight = |value: f64| (1.0 - ((value - middle) / reach).powi(2)).max(0.0).powi(2);
        let weighted = values.iter().map(|&value| (value, weight(value)));
        let (sum, total) = weighted.fold((0.0, 0.0), |(s, t), (v, w)| (s + w * v, t + w));
        let before = std::mem::replace(&mut middle, sum / total);
        // It would stay where it is in all further steps.
        if middle == before {
            break;
        }
    }
    Some(middle)
}

/// The [`biweight_mean`] of values of which up to three quarters may be too high because of a
/// disturbance. Values count if they lie above the first quartile by no more than five times the
/// distance of that quartile from the 5% quantile, or than the share `near` of the quartile if that
/// is more. Of many normally distributed values this leaves out none; of twelve that scatter by
/// more than `near`, one now and then. `None` without values.
pub fn unraised_mean(values: &[f64], near: f64) -> Option<f64> {
    const TIMES: f64 = 5.0;
    let sorted = sorted(values);
    let [least, quartile] = [0.05, 0.25].map(|q| quantile_of_sorted(&sorted, q));
    let (least, quartile) = (least?, quartile?);
    let raised = quartile + (TIMES * (quartile - least)).max(near * quartile.abs());
    biweight_mean(&sorted[..sorted.partition_point(|&value| value <= raised)], 0.0)
}

/// The `q` quantile of values in any order; `None` without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let position = position(values.len(), q)?;
    let mut values = finite(values);
    // Only the two values at the position need to be in their places: of the millions of slopes
    // between thousands of points, sorting takes seconds.
    let (_, &mut below, rest) =
        values.select_nth_unstable_by(position.floor() as usize, f64::total_cmp);
    let above = if position.fract() > 0.0 {
        rest.iter().copied().min_by(f64::total_cmp).unwrap_or(below)
    } else {
        below
    };
    Some(below + position.fract() * (above - below))
}

/// The `q` quantile of ascending values, linear between order statistics: type 7
/// of Hyndman and Fan, "Sample quantiles in statistical packages", The American
/// Statistician 50 (1996). `None` without values.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted());
    let position = position(sorted.len(), q)?;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    Some(below + position.fract() * (above - below))
}

/// Where among so many ascending values a quantile lies, counted from zero.
fn position(count: usize, q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "a quantile of {q}");
    Some(q * count.checked_sub(1)? as f64)
}

/// A bound that the next value of the same kind stays within with at least this probability: the
/// value of rank `ceil((n + 1) * probability)` of `n` that are exchangeable with it, whatever their
/// distribution (Vovk, Gammerman, Shafer, *Algorithmic Learning in a Random World*, 2005). `None`
/// if there are too few of them: fewer than 19 for 95%.
pub fn conformal_quantile(values: &[f64], probability: f64) -> Option<f64> {
    assert!((0.0..1.0).contains(&probability), "a probability of {probability}");
    // The product may lie just above a whole number because of rounding.
    let rank = ((values.len() + 1) as f64 * probability - 1e-9).ceil() as usize;
    sorted(values).get(rank.max(1) - 1).copied()
}

/// The median absolute deviation from the median, times 1.4826, so that it estimates the standard
/// deviation of normally distributed values (Hampel, "The influence curve and its role in robust
/// estimation", JASA 69, 1974). `None` without values.
pub fn mad(values: &[f64]) -> Option<f64> {
    /// 1 / (the 75% quantile of the standard normal distribution).
    const NORMAL_CONSISTENCY: f64 = 1.482_602_218_505_602;
    let center = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    Some(NORMAL_CONSISTENCY * median(&deviations)?)
}

/// A robust coefficient of variation: [`mad`] over the median. `None` without
/// values or where the median is zero.
pub fn relative_spread(values: &[f64]) -> Option<f64> {
    relative_to_median(values, mad(values)?)
}

/// An interval that contains the true median with at least this confidence.
///
/// It lies between two order statistics and assumes nothing about the
/// distribution: the number of values below the true median is binomial (David
/// and Nagaraja, *Order Statistics*, 3rd edition, section 7.1). `None` if there
/// are too few values for such an interval: fewer than six for 95%, eight for 99%.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    assert!((0.0..1.0).contains(&confidence), "a confidence of {confidence}");
    // Even between the least and the greatest value it is not often enough.
    if 2.0 * 0.5_f64.powi(values.len().min(1_000) as i32) > 1.0 - confidence {
        return None;
    }
    let below = Binomial::new(0.5, values.len() as u64).expect("one half is a probability");
    // The greatest rank, from one, below which the true median lies rarely enough.
    let rank = below.inverse_cdf((1.0 - confidence) / 2.0) as usize;
    let sorted = sorted(values);
    Some((sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// Half the width of the 95% confidence interval of the median, over the median.
/// `None` for fewer than six values, or where the median is zero.
pub fn relative_half_width(values: &[f64]) -> Option<f64> {
    let (low, high) = median_interval(values, 0.95)?;
    relative_to_median(values, (high - low) / 2.0)
}

fn relative_to_median(values: &[f64], deviation: f64) -> Option<f64> {
    let median = median(values)?;
    (median != 0.0).then(|| deviation / median.abs())
}

/// The values, of which none may be infinite or no number: that is our own mistake.
fn finite(values: &[f64]) -> Vec<f64> {
    assert!(values.iter().all(|value| value.is_finite()), "a statistic of a value that is none");
    values.to_vec()
}

pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = finite(values);
    sorted.sort_by(f64::total_cmp);
    sorted
}
