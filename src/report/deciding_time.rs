//! Which time a side lacks for a verdict, in words.

use super::evaluation::Assessment;
use crate::search::DecidingTime;

impl Assessment {
    /// Says which time is missing of a side, and when it would win.
    #[must_use]
    pub fn deciding(mut self, deciding_times: &[DecidingTime]) -> Self {
        for DecidingTime { kernel, on, other, at } in deciding_times {
            let side = on.name();
            self.verdict.sentence += &match at {
                Some(at) => format!(
                    " The {side}'s time of `{kernel}` is not known: `{other}` wins if it takes \
                     more than {at} a pass."
                ),
                None => format!(
                    " The {side}'s time of `{kernel}` is not known, but `{other}` wins even if it \
                     takes none."
                ),
            };
        }
        self
    }
}
