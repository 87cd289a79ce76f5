//! Rows about several GPUs.

use super::row::Row;
use crate::machine::{DeviceId, Direction, OperationKind};
use crate::samples::{Provenance, Quantity};
use crate::units::Bytes;

/// Value of the column `streams` for two operations on two GPUs.
pub(super) const OF_TWO_GPUS: &str = "gpus";

/// More GPUs than any machine has.
const TOO_MANY: usize = 1_000;

impl Row<'_> {
    /// A copy between GPUs that reach each other's memory, alone or with as many copies the other
    /// way.
    pub(super) fn peer_copy(&self) -> Result<Quantity, String> {
        let foreign = ["memory", "until", "footprint", "gpu", "gpus"];
        self.leave_empty(&foreign, "not for P2P copies")?;
        let missing = |column| format!("column `{column}`: empty; write a GPU's number, such as 0");
        let from = self.gpu("from")?.ok_or_else(|| missing("from"))?;
        let to = self.gpu("to")?.ok_or_else(|| missing("to"))?;
        if from == to {
            return Err("column `to`: same GPU as `from`; write another one".to_owned());
        }
        let bytes =
            self.bytes("bytes")?.ok_or("column `bytes`: empty; write a number such as 1048576")?;
        let both = match self.get("concurrent") {
            None => false,
            Some(_) => self.one_of("concurrent", &[("P2P", true)])?,
        };
        Ok(Quantity::PeerCopy { from, to, bytes, direct: true, both })
    }

    /// A copy on each of several GPUs at once.
    pub(super) fn concurrent(
        &self,
        direction: Direction,
        bytes: Bytes,
    ) -> Result<Quantity, String> {
        self.leave_empty(&["gpu"], "all GPUs of `gpus` copy")?;
        let both = self.is_beside_the_other(direction)?;
        match self.whole("gpus")? {
            Some(gpus @ 2..) if gpus < TOO_MANY as u64 => {
                let devices = gpus as usize;
                Ok(Quantity::Concurrent { direction, bytes, devices, both })
            }
            _ => {
                Err("column `gpus`: write the number of GPUs that copy at once, 2 or more"
                    .to_owned())
            }
        }
    }

    /// The quantity on the GPU that the row names, if it names one.
    pub(super) fn on(&self, of: Quantity) -> Result<Quantity, String> {
        Ok(match self.gpu("gpu")? {
            Some(device) => Quantity::On { device, of: Box::new(of) },
            None => of,
        })
    }

    /// How much longer it takes to wait for an event of another GPU.
    pub(super) fn crossing(&self, to: OperationKind) -> Result<Quantity, String> {
        if (self.get("after"), to) != (Some("kernel"), OperationKind::Kernel) {
            return Err(format!(
                "column `streams`: `{OF_TWO_GPUS}` is only for a `kernel` after a `kernel`: how \
                 much longer the wait takes than on one GPU"
            ));
        }
        Ok(Quantity::Crossing { whole: false })
    }

    fn gpu(&self, column: &str) -> Result<Option<DeviceId>, String> {
        let Some(text) = self.get(column) else { return Ok(None) };
        match text.parse() {
            Ok(number) if number < TOO_MANY => Ok(Some(DeviceId(number))),
            _ => Err(format!("column `{column}`: `{text}` is not a GPU's number, such as 0 or 1")),
        }
    }
}

/// The machine, with as many GPUs as the rows are about.
pub(super) fn among<'q>(
    quantities: impl Iterator<Item = &'q Quantity>,
    machine: Provenance,
) -> Provenance {
    let (mut devices, mut peer_access) = (machine.devices, false);
    for quantity in quantities {
        let of_it = match *quantity {
            Quantity::PeerCopy { from, to, .. } => from.max(to).0 + 1,
            Quantity::Concurrent { devices, .. } => devices,
            Quantity::On { device, .. } => device.0 + 1,
            Quantity::Crossing { .. } => 2,
            _ => 1,
        };
        devices = devices.max(of_it);
        peer_access |= matches!(quantity, Quantity::PeerCopy { .. });
    }
    Provenance { devices, peer_access, ..machine }
}
