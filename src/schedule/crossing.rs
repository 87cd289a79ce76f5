//! What of an item crosses between the host and a device.

use super::graph::{ItemId, TaskGraph};
use crate::scenario::Needed;

impl TaskGraph<'_> {
    /// What has to come to a device: of what lives on the host and no task writes, maybe a part.
    pub fn comes_in(&self, id: ItemId) -> Vec<Needed> {
        let item = &self.items[id];
        match item.writer {
            None => self.workload.crossing(item.buffer, &item.needs),
            Some(_) => vec![item.needs.clone().into()],
        }
    }

    /// What has to be at home in the end.
    pub fn goes_out(&self, id: ItemId) -> Vec<Needed> {
        let item = &self.items[id];
        let goes = item.goes_home.iter();
        goes.flat_map(|range| self.workload.crossing(item.buffer, range)).collect()
    }
}
