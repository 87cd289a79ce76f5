//! Models of other paths of data, of calls on an idle device, of set-up, and of how much copies and
//! other work slow each other down.

use super::contention::{at_once, slowdowns};
use super::device::copy_time;
use super::lookup::Lookup;
use crate::machine::Direction;
use crate::profile::{
    CallCosts, CopyModel, Curve, Interference, KernelModel, SetupCosts, TransferModel, TwinModel,
    Warmth,
};
use crate::samples::{
    Load, Quantity, STREAMING_KERNEL, STREAMING_TWIN, SetupStep, Side, TimedCall, TransferPath,
};
use crate::stats::{median, relative_spread};

pub(super) fn transfers(lookup: &Lookup<'_>) -> Vec<TransferModel> {
    let curve = |wanted| {
        lookup.curve(|quantity| match *quantity {
            Quantity::Transfer { path, bytes } if path == wanted => Some(bytes.get()),
            _ => None,
        })
    };
    let model = |path| curve(path).map(|time| TransferModel { path, time });
    TransferPath::ALL.into_iter().filter_map(model).collect()
}

pub(super) fn idle_calls(lookup: &Lookup<'_>) -> CallCosts {
    let cost = |call| lookup.estimate_of(&Quantity::IdleCall { call });
    CallCosts {
        launch: cost(TimedCall::Launch),
        launch_spread: None,
        launch_beside_copy_in: None,
        launch_beside_copy_out: None,
        launch_behind_wait: None,
        launch_by_cublas: None,
        launch_by_cufft: None,
        copy_out_behind_wait: None,
        copy_in: cost(TimedCall::CopyIn),
        copy_out: cost(TimedCall::CopyOut),
        clear: cost(TimedCall::Clear),
        record: cost(TimedCall::Record),
        wait: cost(TimedCall::Wait),
        synchronize: cost(TimedCall::Synchronize),
    }
}

pub(super) fn setup(lookup: &Lookup<'_>) -> SetupCosts {
    let cost = |step| lookup.estimate_of(&Quantity::Setup { step });
    SetupCosts {
        stream: cost(SetupStep::Stream),
        event: cost(SetupStep::Event),
        context: cost(SetupStep::Context),
        module: cost(SetupStep::Module),
    }
}

/// How much copies and loads slow each other down, where the time of each alone is known.
pub(super) fn interference(
    lookup: &Lookup<'_>,
    copies: &[CopyModel],
    kernels: &[KernelModel],
    twins: &[TwinModel],
) -> Vec<Interference> {
    let known = |curve: &Curve, size: f64| curve.known(size).ok();
    let load_alone = |load| match load {
        Load::Kernel => {
            let (variant, elements) = STREAMING_KERNEL;
            let model = kernels.iter().find(|model| model.variant == variant)?;
            known(&model.time, elements as f64)
        }
        Load::Cpu => {
            let (variant, elements) = STREAMING_TWIN;
            let fits =
                |model: &&TwinModel| (model.variant, model.found) == (variant, Warmth::Memory);
            known(&twins.iter().find(fits)?.time, elements as f64)
        }
    };
    let measured = |load: Load, direction: Direction| {
        let alone = [copy_time(copies, direction, load.copy())?, load_alone(load)?];
        let [copy, other] = [Side::Copy, Side::Load].map(|of| Quantity::Beside {
            direction,
            bytes: load.copy(),
            load,
            of,
        });
        let slow = |of: &Quantity, alone: f64, beside: &Quantity| -> Vec<f64> {
            let visits = lookup.measurements().filter(|visit| visit.quantity == *of);
            let pairs = visits.filter_map(|one| Some((one, at_once(lookup, one, beside)?)));
            pairs.flat_map(|(one, other)| slowdowns(one, alone, Some(other))).collect()
        };
        let copy_slow = slow(&copy, alone[0], &other);
        Some(Interference {
            load,
            direction,
            copy_slowdown: median(&copy_slow)?,
            load_slowdown: median(&slow(&other, alone[1], &copy))?,
            scatter: relative_spread(&copy_slow)?,
        })
    };
    let pairs = Load::ALL.into_iter().flat_map(|load| Direction::BOTH.map(|way| (load, way)));
    pairs.filter_map(|(load, direction)| measured(load, direction)).collect()
}
