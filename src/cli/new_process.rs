//! A process that is started to time its own first use of the GPU: this program again, with a
//! command that help does not show.

use super::{Failure, Outcome, print};
use crate::calibrate::{NewProcess, first_times, first_uses};
use crate::samples::{CalibrationExtent, Measurement};
use clap::Args;
use std::io::Read;
use std::time::Duration;

/// The command of the new process.
pub(super) const MEASURE: &str = "measure-new-process";

/// Creating a context takes half a second; of a driver that has to wake up a GPU, ten.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kernel library as PTX has less than a tenth of this.
const LARGEST_IMAGE: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(super) struct NewProcessArguments {
    /// GPU to use, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
}

/// Starts such processes and measures what comes for the first time in each.
///
/// # Errors
/// Why that cannot be measured, in words.
pub(super) fn measured(gpu: usize, extent: CalibrationExtent) -> Result<Vec<Measurement>, String> {
    let program = std::env::current_exe().map_err(|error| {
        format!("cannot be started, because the path of this program is unknown: {error}")
    })?;
    let arguments = [MEASURE.into(), "--gpu".into(), gpu.to_string().into()];
    let process = NewProcess { program, arguments: arguments.to_vec(), patience: PATIENCE };
    first_uses(&process, if extent == CalibrationExtent::Quick { 2 } else { 5 })
}

/// The new process's side: takes the kernel library from its standard input, and answers with its
/// times.
pub(super) fn measure(arguments: &NewProcessArguments) -> Result<Outcome, Failure> {
    let mut image = String::new();
    let input = std::io::stdin().lock();
    input.take(LARGEST_IMAGE).read_to_string(&mut image).map_err(Failure::of_machine)?;
    let times = first_times(arguments.gpu, image)?;
    let line = serde_json::to_string(&times).map_err(Failure::of_machine)?;
    print(&(line + "\n"))
}
