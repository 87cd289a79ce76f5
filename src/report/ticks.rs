//! Where an axis has its marks, and which of their labels find room.

use crate::units::Span;

/// About `count` marks at even steps of 1, 2 or 5 times a power of ten.
pub(super) fn even_marks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let rough = (high - low) / f64::from(count);
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|number| number as f64 * step).collect()
}

/// From three to about ten marks at round numbers of a logarithmic axis, none of them so near to
/// another that their labels would touch.
pub(super) fn log_marks(low: f64, high: f64) -> Vec<f64> {
    let steps: [&[f64]; 4] =
        [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]];
    let decades = low.log10().floor() as i32..=high.log10().floor() as i32;
    let of = |steps: &[f64], every: usize| {
        let decades = decades.clone().step_by(every);
        let all = decades.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|mark| (low..=high).contains(mark)).collect::<Vec<f64>>()
    };
    if (high / low).log10() > 7.0 {
        return of(&[1.0], 2);
    }
    let found = steps.into_iter().map(|steps| of(steps, 1)).find(|marks| marks.len() >= 3);
    // So short a stretch is almost even.
    let mut marks = found.unwrap_or_else(|| even_marks(low, high, 5));
    let whole = (high / low).ln();
    while marks.windows(2).any(|two| (two[1] / two[0]).ln() < CROWDED * whole) {
        marks = marks.into_iter().step_by(2).collect();
    }
    marks
}

/// Labels would touch on a low chart if marks were nearer than this share of the axis.
const CROWDED: f64 = 0.08;

/// Nanoseconds in the unit of the longest time on the axis: `0.5 ms`.
pub(super) fn time_like(longest: f64, nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    // Rounding in a logarithm must not turn `1 ms` into `1000 us`.
    let found = units.into_iter().find(|&(scale, _)| longest >= scale * (1.0 - 1e-9));
    let (scale, unit) = found.unwrap_or((1.0, "ns"));
    format!("{} {unit}", (nanos / scale * 1e3).round() / 1e3)
}

/// Nanoseconds in the unit that fits, with no more digits than it takes: `2.5 ms`.
pub(super) fn time_at(nanos: f64) -> String {
    time_like(nanos, nanos)
}

/// Even marks of a time axis that begins at zero, each with its label.
pub(super) fn time_marks(end: Span, count: u32) -> Vec<(f64, String)> {
    let end = end.nanos_f64().max(1.0);
    even_marks(0.0, end, count).into_iter().map(|mark| (mark, time_like(end, mark))).collect()
}

/// The share of a label that is before its mark, which has a place as a share of the axis. At the
/// ends, a label stays within the axis, instead of having its mark in the middle.
pub(super) fn before_mark(place: f64) -> f64 {
    match place {
        ..0.05 => 0.0,
        ..=0.95 => 0.5,
        _ => 1.0,
    }
}

/// Which labels can be shown together on an axis of so many pixels, without touching. Places are
/// shares of the axis. Labels that come first have the first choice.
pub(super) fn side_by_side(labels: &[(f64, &str)], pixels: f64) -> Vec<bool> {
    const GAP: f64 = 6.0;
    // No common font of 12 pixels has wider letters.
    let wide = |letter: char| match letter {
        ' ' | '.' | ',' => 4.0,
        '%' | '+' | 'm' | 'M' => 11.7,
        _ => 7.7,
    };
    let mut taken: Vec<[f64; 2]> = Vec::new();
    let mut fits = |&(place, text): &(f64, &str)| {
        let (at, wide) = (place * pixels, text.chars().map(wide).sum::<f64>() + GAP);
        let from = at - wide * before_mark(place);
        let ends = [from, from + wide];
        let is_free = taken.iter().all(|[from, to]| ends[1] <= *from || ends[0] >= *to);
        if is_free {
            taken.push(ends);
        }
        is_free
    };
    labels.iter().map(&mut fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_touch_give_way_to_earlier_ones() {
        let labels = [(0.0, "0 ms"), (0.5, "50 ms"), (0.52, "52 ms"), (1.0, "100 ms")];
        assert_eq!(side_by_side(&labels, 200.0), [true, true, false, true]);
        assert_eq!(side_by_side(&labels, 4_000.0), [true; 4]);
        assert_eq!(side_by_side(&labels, 50.0), [true, false, false, false]);
        assert_eq!(side_by_side(&labels, 100.0), [true, false, false, true]);
    }

    #[test]
    fn marks_of_logarithmic_axes_are_round_and_keep_apart() {
        assert_eq!(log_marks(0.9, 1_100.0), [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(log_marks(99.0, 111.0), [100.0, 105.0, 110.0]);
        for (low, high) in [(87.0, 112.0), (1.0, 1.3), (3.0, 40.0), (1.0, 9e9), (95.0, 105.0)] {
            let marks = log_marks(low, high);
            assert!((2..=12).contains(&marks.len()), "{low} to {high}: {marks:?}");
            let whole = f64::ln(high / low);
            for two in marks.windows(2) {
                let apart = f64::ln(two[1] / two[0]) / whole;
                assert!(apart >= CROWDED, "{low} to {high}: {marks:?}");
            }
        }
    }

    #[test]
    fn marks_begin_at_zero_and_stay_below_the_end() {
        let marks = time_marks(Span::from_nanos(2_360_000), 3);
        let texts: Vec<&str> = marks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0 ms", "1 ms", "2 ms"]);
    }
}
