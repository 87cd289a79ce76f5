//! Least squares whose coefficients are costs and so never negative.

use nalgebra::{DMatrix, DVector};

/// Pulls coefficients that the data cannot tell apart towards equal shares, and
/// moves those that it can by about as little as this.
const RIDGE: f64 = 1e-10;
/// How steeply the error must fall before a coefficient leaves zero: well below
/// what the ridge does, well above rounding.
const STEEP: f64 = 1e-13;

/// The `x >= 0` that minimises `|rows * x - targets|`: the active-set method of
/// Lawson and Hanson, *Solving Least Squares Problems* (1974), chapter 23.
///
/// Columns are scaled to unit length first, so they may have any units. Of
/// several solutions the one of least norm, in those units, is returned: equal
/// columns get equal coefficients. No rows give no coefficients.
pub fn nonnegative_least_squares(rows: &[Vec<f64>], targets: &[f64]) -> Vec<f64> {
    assert_eq!(rows.len(), targets.len(), "one target for each row");
    let columns = rows.first().map_or(0, Vec::len);
    assert!(rows.iter().all(|row| row.len() == columns), "rows of unequal length");
    let target_norm = targets.iter().map(|target| target * target).sum::<f64>().sqrt();
    if target_norm == 0.0 {
        return vec![0.0; columns];
    }
    let mut matrix = DMatrix::from_fn(rows.len() + columns, columns, |i, j| {
        rows.get(i).map_or(0.0, |row| row[j])
    });
    let scales: Vec<f64> = matrix
        .column_iter_mut()
        .map(|mut column| column.try_normalize_mut(0.0).unwrap_or(1.0))
        .collect();
    for j in 0..columns {
        matrix[(rows.len() + j, j)] = RIDGE.sqrt();
    }
    let target = DVector::from_fn(rows.len() + columns, |i, _| {
        targets.get(i).map_or(0.0, |target| target / target_norm)
    });
    let solution = active_set(&matrix, &target);
    solution.iter().zip(scales).map(|(x, scale)| x * target_norm / scale).collect()
}

fn active_set(matrix: &DMatrix<f64>, target: &DVector<f64>) -> DVector<f64> {
    let columns = matrix.ncols();
    let mut solution = DVector::zeros(columns);
    // The coefficients that are not held at zero.
    let mut free: Vec<usize> = Vec::new();
    // In theory the method ends by itself; rounding can make it oscillate.
    for _ in 0..10 * columns {
        let descent = matrix.tr_mul(&(target - matrix * &solution));
        let steepest = (0..columns)
            .filter(|j| !free.contains(j) && descent[*j] > STEEP)
            .max_by(|&i, &j| descent[i].total_cmp(&descent[j]));
        let Some(entering) = steepest else { break };
        free.push(entering);
        while !step_towards_optimum(matrix, target, &mut free, &mut solution) {}
    }
    solution
}

/// Moves the free coefficients to their unconstrained optimum. If one of them
/// would fall below zero, goes as far as the first one reaches zero, holds it
/// there and answers `false`: the optimum of the remaining ones is another.
fn step_towards_optimum(
    matrix: &DMatrix<f64>,
    target: &DVector<f64>,
    free: &mut Vec<usize>,
    solution: &mut DVector<f64>,
) -> bool {
    let optimum = least_squares(&matrix.select_columns(free.iter()), target);
    // How far along the way each falling coefficient reaches zero.
    let blocking = (0..free.len())
        .filter(|&position| optimum[position] <= 0.0)
        .map(|position| {
            let now = solution[free[position]];
            (position, now / (now - optimum[position]).max(f64::MIN_POSITIVE))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let fraction = blocking.map_or(1.0, |(_, fraction)| fraction);
    for (position, &j) in free.iter().enumerate() {
        let moved = solution[j] + fraction * (optimum[position] - solution[j]);
        // Rounding alone can put it below.
        solution[j] = moved.max(0.0);
    }
    let Some((position, _)) = blocking else {
        return true;
    };
    solution[free.swap_remove(position)] = 0.0;
    free.is_empty()
}

/// The ridge makes every choice of columns of full rank.
fn least_squares(columns: &DMatrix<f64>, target: &DVector<f64>) -> DVector<f64> {
    let factors = columns.clone().qr();
    let mut rotated = target.clone();
    factors.q_tr_mul(&mut rotated);
    let head = rotated.rows(0, columns.ncols()).into_owned();
    factors.r().solve_upper_triangular(&head).expect("the ridge keeps the diagonal from zero")
}
