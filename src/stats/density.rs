//! How dense samples are around some values.

use super::{median, quantile};

/// A Gaussian kernel density estimate of `values` at `places`, in samples per unit, one in all.
/// Its bandwidth is Silverman's: 0.9 times the smaller of the standard deviation and the scaled
/// interquartile range, over the fifth root of the number of samples (*Density Estimation*, 1986,
/// section 3.4.2). `None` where no two samples differ.
pub fn density(values: &[f64], places: &[f64]) -> Option<Vec<f64>> {
    let width = bandwidth(values)?;
    let scale = 1.0 / (values.len() as f64 * width * std::f64::consts::TAU.sqrt());
    let at = |place: &f64| {
        let bump = |value: &f64| (-0.5 * ((place - value) / width).powi(2)).exp();
        scale * values.iter().map(bump).sum::<f64>()
    };
    Some(places.iter().map(at).collect())
}

fn bandwidth(values: &[f64]) -> Option<f64> {
    /// The interquartile range of a normal distribution, in standard deviations.
    const QUARTILES: f64 = 1.34;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (count - 1.0)).sqrt();
    let quartiles = (quantile(values, 0.75)? - quantile(values, 0.25)?) / QUARTILES;
    let spread = if quartiles > 0.0 { deviation.min(quartiles) } else { deviation };
    let width = 0.9 * spread * count.powf(-0.2);
    (width.is_finite() && width > 1e-12 * median(values)?.abs()).then_some(width)
}

#[cfg(test)]
mod tests {
    use super::density;

    /// The bump of the estimate has a height that is known in closed form: two samples at -1 and 1
    /// deviate by the root of 2, their quartiles lie at -0.5 and 0.5.
    #[test]
    fn two_samples_make_two_bumps_of_known_width() {
        let width = 0.9 * (1.0 / 1.34) * 2f64.powf(-0.2);
        let bump = |distance: f64| {
            (-0.5 * (distance / width).powi(2)).exp() / (width * std::f64::consts::TAU.sqrt())
        };
        let found = density(&[-1.0, 1.0], &[-1.0, 0.0, 1.0]).expect("two samples differ");
        let expected = [0.5 * (bump(0.0) + bump(2.0)), bump(1.0), 0.5 * (bump(0.0) + bump(2.0))];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn all_of_it_is_one() {
        let values = [3.0, 4.0, 4.5, 5.0, 9.0];
        let places: Vec<f64> = (-200..400).map(|at| f64::from(at) * 0.05).collect();
        let total: f64 = density(&values, &places).expect("they differ").iter().sum::<f64>() * 0.05;
        assert!((total - 1.0).abs() < 1e-3, "{total}");
    }

    #[test]
    fn equal_samples_have_no_density() {
        assert_eq!(density(&[2.0; 9], &[2.0]), None);
        assert_eq!(density(&[2.0], &[2.0]), None);
        assert_eq!(density(&[], &[2.0]), None);
    }
}
