//! How much memory a program takes, and how much there is.

use super::value::Program;
use crate::machine::Capacities;
use crate::units::Bytes;

/// Where the figures of some [`Capacities`] come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// `[limits]` of a scenario.
    Scenario,
    /// The machine of a profile.
    Machine,
    /// What is free right now on the machine that will run the program.
    Now,
}

/// A program that takes more of a memory than there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "needs {needs} of {memory} memory, but can use only {has}{}: {}",
    self.of_whom(),
    self.fix()
)]
pub struct DoesNotFit {
    /// `device`, `pinned` or `host`.
    pub memory: &'static str,
    pub needs: Bytes,
    pub has: Bytes,
    pub whose: Whose,
}

impl DoesNotFit {
    fn of_whom(&self) -> &'static str {
        match (self.whose, self.memory) {
            (Whose::Scenario, _) => "",
            (Whose::Machine, "device") => ", all that the device has",
            (Whose::Machine, _) => ", all that the host has",
            (Whose::Now, "device") => ", all that is free on the device",
            (Whose::Now, _) => ", all that is free on the host",
        }
    }

    /// What the user can do about it. Another plan is no advice: all that the scenario allows
    /// are tried.
    fn fix(&self) -> String {
        let limit = match self.whose {
            Whose::Scenario => format!("raise `{}_memory` in [limits] or ", self.memory),
            Whose::Machine | Whose::Now => String::new(),
        };
        format!("{limit}use smaller buffers")
    }
}

/// Checks that a program takes no more of any memory than there is.
///
/// # Errors
/// The first memory that does not suffice.
pub fn check_fits(program: &Program, there_is: Capacities, whose: Whose) -> Result<(), DoesNotFit> {
    let memories = [
        ("device", there_is.device, program.device_bytes()),
        ("pinned", there_is.pinned, program.pinned_bytes()),
        ("host", there_is.host, program.host_bytes()),
    ];
    for (memory, has, needs) in memories {
        if let Some(has) = has.filter(|&has| needs > has) {
            return Err(DoesNotFit { memory, needs, has, whose });
        }
    }
    Ok(())
}
