//! A process that is started to time its own first use of the GPU: this program again, with a
//! command that help does not show.

use super::profiles::deliver;
use super::{Failure, Outcome};
use crate::calibrate::{NewProcess, first_context, first_times};
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
    /// Time the context alone
    #[arg(long)]
    context: bool,
}

/// How a calibration starts such a process.
pub(super) fn new_process(gpu: usize) -> Result<NewProcess, Failure> {
    let program = std::env::current_exe().map_err(Failure::machine)?;
    let arguments = [MEASURE.into(), "--gpu".into(), gpu.to_string().into()];
    let context_only = "--context".into();
    Ok(NewProcess { program, arguments: arguments.to_vec(), context_only, patience: PATIENCE })
}

/// The new process's side: takes the kernel library from its standard input, and answers with its
/// times.
pub(super) fn measure(arguments: &NewProcessArguments) -> Result<Outcome, Failure> {
    if arguments.context {
        let context = first_context(arguments.gpu)?;
        return deliver(&format!("{}\n", context.nanos()), None).map(|()| Outcome::Done);
    }
    let mut image = Vec::new();
    let input = std::io::stdin().lock();
    input.take(LARGEST_IMAGE).read_to_end(&mut image).map_err(Failure::machine)?;
    let times = first_times(arguments.gpu, &image)?;
    let line = serde_json::to_string(&times).map_err(Failure::machine)?;
    deliver(&(line + "\n"), None).map(|()| Outcome::Done)
}
