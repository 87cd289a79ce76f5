//! What every call of a program costs on a machine: program and profile to a compiled program.
//!
//! Invariant: no time passes here. A compiled program says what each call and each hand-over takes,
//! and what shares what; when anything happens, only the simulator says. What a profile does not
//! know is refused by name, before anything is simulated.
//!
//! `history` walks through what calls touch and says where each finds its data. `layout` sorts the
//! calls into streams, and `structure` knows what follows from that whatever calls cost: it is
//! worked out once for a program. `call_costs` looks up each call, `host_times` says by how much
//! single calls differ from that, and `body` has both. A rule of the simulator that needs more has
//! its parameters in a file here and what it does in a file of the same name in `simulate`:
//! `hand_overs`, `polling`, `copies`, `links`, `waiting_kernels`, `channels`, `multiprocessors`. So
//! a new rule of one of these resources touches these two files; a new resource needs a field in
//! `compiled`, or in `structure` if it does not depend on prices, and a line in the engine that
//! asks for it. `draws` compiles for machines that differ from the measured one by its scatter; how
//! an estimate is drawn is the profile's affair.

mod analysis;
mod antithetic;
mod body;
mod caches;
mod call;
mod call_costs;
mod channels;
mod classes;
mod compiled;
mod copies;
mod draws;
mod entries;
mod first_use;
mod halved;
mod hand_overs;
mod history;
mod host_times;
mod in_flight;
mod layout;
mod links;
mod multiprocessors;
mod polling;
mod remote;
mod setup;
mod streaming;
mod structure;
mod traffic;
mod uses;
mod waiting_kernels;
mod work;
mod written;

pub use compiled::{CompileError, CompiledProgram};
pub use first_use::{FirstUse, FirstUseOf, first_use};
pub use halved::Bottleneck;
pub use links::LinkId;
pub use multiprocessors::Blocks;
pub use setup::{Pinning, Taken, pinning, setup_time, taken, unpinned};
pub use work::{CallCost, Waits, Work};

pub(crate) use analysis::Analysis;
pub(crate) use body::Burst;
pub(crate) use call::{CallId, CompiledCall, NO_STREAM, NONE};
pub(crate) use copies::{ENGINES, PEER_ENGINE};
pub(crate) use draws::Draw;
pub(crate) use entries::{Entry, EntryId, Recording, Wait};
pub(crate) use halved::{Halved, Prices};
pub(crate) use hand_overs::{HandOverCost, Tie};
pub(crate) use layout::Layout;
pub(crate) use multiprocessors::all_parts;
pub(crate) use polling::{PollClock, PollTimes, TICKS, place_of};
pub(crate) use work::WorkKind;
