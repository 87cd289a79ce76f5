//! Machines that the scatter of a profile allows.

use super::analysis::Analysis;
use super::antithetic::Antithetic;
use super::changed::Changed;
use super::compiled::{CompileError, CompiledProgram};
use super::stated;
use crate::profile::Profile;
use crate::program::Program;
use rand::RngExt;

/// A machine from which the calibration could have come, and the random numbers for a program on
/// it.
pub(crate) struct Draw {
    profile: Profile,
    random: Antithetic,
    /// The seed of all draws, and the number of this one.
    seed: (u64, usize),
}

impl Draw {
    /// The draw of a number. The same seed and number give the same one.
    pub fn new(profile: &Profile, number: usize, seed: u64) -> Self {
        let mut random = Antithetic::new(seed, number);
        let mut beyond = Antithetic::new(seed.wrapping_add(1), number);
        let profile = profile.drawn(&mut || random.random(), &mut || beyond.random());
        Self { profile, random, seed: (seed.wrapping_add(2), number) }
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
        let (seed, number) = self.seed;
        let stated = stated::drawn(program, seed, number);
        let changed = Changed { stated, ..Changed::default() };
        let profile = (&self.profile, &changed);
        CompiledProgram::drawn(program, analysis, profile, Some(self.random.clone()))
    }
}
