//! The kernel library as a table.

use super::table::{Column, Table};
use super::words::{folded, joined, quoted};
use crate::kernels::{Arguments, Extent, Kernel, Shape};

/// For each kernel: its arguments, what it reads and writes, and the operations and bytes of one
/// element with the default arguments. In at most `width` columns if a number is given.
pub fn library(width: Option<usize>) -> String {
    let of_elements = |kernel: &Kernel| {
        let extent = kernel.extent().map_or(0, |extent| extent.default);
        kernel.flops_per_element(&Arguments { extent, ..Arguments::default() })
    };
    let table = Table::of(&Kernel::ALL)
        .with(Column::words("kernel"), |kernel| kernel)
        .with(Column::words("reads"), |kernel| reads(*kernel))
        .with(Column::words("writes"), |kernel| writes(*kernel))
        .with(Column::words("arguments"), |kernel| takes(*kernel))
        .with(Column::number("bytes per element").if_room(1), |kernel| kernel.bytes_per_element())
        .with(Column::number("flop per element").if_room(1), of_elements);
    let notes = [
        "",
        "Arguments are shown with their defaults, which the flop counts also assume.",
        "Inputs that are read whole (\"all of\") are not counted in the bytes.",
    ];
    let by_elements = quoted(Kernel::ALL.into_iter().filter(|one| one.goes_by_elements()));
    let cut = format!(
        "\nPlans split tasks of these kernels into chunks unless the task has `split = \"none\"`: \
         {}. Other tasks are split if they have a `split`, except `transpose`, which \
         cannot be split.\n",
        by_elements.join(", ")
    );
    folded(&(table.text(width) + &notes.join("\n") + &cut), width)
}

/// `x and its neighbours; all of weights: taps`
fn reads(kernel: Kernel) -> String {
    // With two values of the extent, a size that is the extent differs from one that is its square.
    const THREE: Arguments = Arguments { a: 0.0, extent: 3 };
    let extent = kernel.extent().map_or("", |extent| extent.name);
    let neighbours = if kernel.halo(&THREE) > 0 { " and its neighbours" } else { "" };
    let operand = |(input, name): (usize, &&str)| match kernel.whole(input, &THREE) {
        Some(3) => format!("all of {name}: {extent}"),
        Some(_) => format!("all of {name}: {extent} x {extent}"),
        None => format!("{name}{neighbours}"),
    };
    joined(kernel.operands().iter().enumerate().map(operand), "; ")
}

fn writes(kernel: Kernel) -> String {
    match (kernel.shape(), kernel.extent()) {
        (Shape::Map, _) => "as many as it reads".to_owned(),
        (Shape::Reduction, Some(extent)) => extent.name.to_owned(),
        (Shape::Reduction, None) => "1".to_owned(),
    }
}

/// `degree = 16: a whole number from 1 to 65536`
fn takes(kernel: Kernel) -> String {
    let factor = kernel.has_factor().then(|| format!("a = {}", Arguments::default().a));
    let extent = |extent: Extent| format!("{} = {}: {extent}", extent.name, extent.default);
    factor.or(kernel.extent().map(extent)).unwrap_or_default()
}
