//! Which CPU, and whose code on it, the GPU was compared with.

use super::evaluation::Evaluation;
use super::words::{folded, if_known, plural};
use crate::findings::Assessment;
use crate::machine::Side;
use crate::scenario::CpuCode;
use std::collections::BTreeSet;

impl Evaluation {
    /// Which CPU the GPU was compared with, where another GPU is taken to be in the host: whoever
    /// asks has another host, too.
    pub(super) fn whose_cpu(&self, one: &Assessment, width: Option<usize>) -> String {
        let origin = &self.profile;
        if !origin.by_data_sheet || one.cpu_code == Some(CpuCode::Stated) {
            return String::new();
        }
        let cpu = origin.cpu.as_deref().unwrap_or("CPU");
        let threads = if_known(origin.cpu_threads, |threads| {
            format!(" with {}", plural(threads as u64, "thread"))
        });
        let text = format!(
            "CPU times are for the calibrated host's {cpu}{threads}, not yours. A scenario can \
             state times for your CPU (`cpu`).\n"
        );
        folded(&text, width)
    }

    /// What the CPU does in the plans that the GPU is compared with: whose code it runs. `None` if
    /// there are no such plans, or scenarios differ.
    pub(super) fn whose_code(&self) -> Option<&'static str> {
        let has_cpu_plan = |one: &&Assessment| one.plans.iter().any(|plan| plan.side == Side::Cpu);
        let codes = self.scenarios.iter().filter(has_cpu_plan).filter_map(|one| one.cpu_code);
        let codes: BTreeSet<CpuCode> = codes.collect();
        let only = codes.first().filter(|_| codes.len() == 1)?;
        Some(match only {
            CpuCode::Hallway => "runs hallway's own code",
            CpuCode::Yours => "runs your own code",
            CpuCode::Stated => "takes the times that you stated",
            CpuCode::Mixed => "runs hallway's own code for some tasks, and yours for others",
        })
    }
}
