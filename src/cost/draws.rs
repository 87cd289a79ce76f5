//! Machines that the scatter of a profile allows.

use super::analysis::Analysis;
use super::antithetic::Antithetic;
use super::compiled::{CompileError, CompiledProgram};
use crate::profile::Profile;
use crate::program::Program;
use rand::RngExt;

/// A machine from which the calibration could have come, and the random numbers for a program on
/// it.
pub(crate) struct Draw {
    profile: Profile,
    random: Antithetic,
}

impl Draw {
    /// The draw of a number. The same seed and number give the same one.
    pub fn new(profile: &Profile, number: usize, seed: u64) -> Self {
        let mut random = Antithetic::new(seed, number);
        let mut beyond = Antithetic::new(seed.wrapping_add(1), number);
        let profile = profile.drawn(&mut || random.random());
        let profile = profile.drawn_beyond(&mut || beyond.random());
        Self { profile, random }
    }

    /// Compiles a program for this machine.
    ///
    /// # Errors
    /// As for [`CompiledProgram::new`].
    pub fn compile(
        &self,
        program: &Program,
        analysis: &Analysis,
    ) -> Result<CompiledProgram<'_>, CompileError> {
        CompiledProgram::drawn(program, analysis, &self.profile, Some(self.random.clone()))
    }
}
