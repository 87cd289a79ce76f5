//! Values that can only rise, measured with noise.

/// The rising values that are nearest in the sum of squares, by pooling adjacent violators
/// (Ayer, Brunk, Ewing, Reid, Silverman, "An Empirical Distribution Function for Sampling
/// with Incomplete Information", 1955): as many as there are.
pub fn isotonic(values: &[f64]) -> Vec<f64> {
    // The sum and the number of the values in each block of equals.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let mean = |block: &(f64, usize)| block.0 / block.1 as f64;
    for &value in values {
        blocks.push((value, 1));
        while let [.., one, next] = &blocks[..]
            && mean(one) > mean(next)
        {
            let pooled = (one.0 + next.0, one.1 + next.1);
            blocks.truncate(blocks.len() - 2);
            blocks.push(pooled);
        }
    }
    blocks.iter().flat_map(|block| std::iter::repeat_n(mean(block), block.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::isotonic;

    #[test]
    fn what_rises_stays_and_what_falls_is_pooled() {
        assert_eq!(isotonic(&[]), Vec::<f64>::new());
        assert_eq!(isotonic(&[1.0, 2.0, 2.0, 5.0]), [1.0, 2.0, 2.0, 5.0]);
        assert_eq!(isotonic(&[3.0, 1.0, 4.0]), [2.0, 2.0, 4.0]);
        // The last pulls down all that are above its mean with them.
        assert_eq!(isotonic(&[1.0, 6.0, 5.0, 1.0, 9.0]), [1.0, 4.0, 4.0, 4.0, 9.0]);
    }
}
