//! The CPU and the GPU are two offices joined by a narrow hallway. This crate says whether the
//! trip through it pays for a workload, and how the trips should overlap. It knows from
//! measurements of the machine that will do the work, and it can run the very plan that it
//! predicted, to show how far off it was.
//!
//! # How to ask
//!
//! Load a workload and the profile of a machine, build the candidate plans and rank them:
//!
//! ```
//! use hallway::profile::Profile;
//! use hallway::scenario::Workload;
//! use hallway::search::{candidates_over, rank};
//! use std::path::Path;
//!
//! let workload = Workload::load(Path::new("scenarios/stencil-halo.toml"))?;
//! let profile = Profile::load(Path::new("calibration/h200/profile.toml"))?;
//!
//! let candidates = candidates_over(&workload, &profile.gpu_counts());
//! let (draws, seed) = (100, 1);
//! let ranking = rank(candidates, &profile, draws, seed);
//!
//! let winner = ranking.winner().ok_or("nothing could be predicted")?;
//! let (low, high) = winner.forecast.interval();
//! println!("{}: {}, 90% between {low} and {high}", winner.plan.name(), winner.makespan());
//! # assert!(!winner.is_cpu(), "an H200 wins four stencils over 64 MiB");
//! # assert!(low <= winner.makespan() && winner.makespan() <= high);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/choose_plan.rs` does so for every job of a queue.
//!
//! # Features
//!
//! All are on by default. Without them, the library reads scenarios and profiles and predicts.
//!
//! - `nsight`: traces that Nsight Systems exported, which are SQLite databases.
//! - `schema`: JSON Schemas of scenarios and reports.
//! - `report`: text, pages, pictures and traces.
//! - `gpu`: the machine itself, to calibrate and to execute. CUDA is loaded when it is needed.
//! - `cli`: the `hallway` command, with all of both.
//! - `mimalloc`: the command allocates memory faster than with the C library. A program that uses
//!   the library chooses its own allocator.
//!
//! # The loop
//!
//! ```text
//!  the machine ──calibrate──▶ samples ──fit──▶ profile ─┐
//!                                                       ├─simulate─▶ timeline ─┐
//!  scenario.toml ──▶ workload ──search──▶ program ──────┤                      ├─compare─▶ report
//!                                                       └─execute──▶ runs ─────┘
//!                                                         the machine
//! ```
//!
//! Every plan is a program: the ordered host calls of one way to do a workload. The simulator and
//! the executor read one and the same value, so a prediction and a measurement are of the same
//! calls.
//! A third reader follows the data on the CPU, in any order that the waits allow: it finds a
//! missing wait without a GPU.
//!
//! # Rooms
//!
//! A room imports only rooms that stand above it here. The exact table is in
//! `tests/suite/rooms_import_one_way.rs`, which reads the sources.
//!
//! | room | what it holds |
//! |---|---|
//! | [`units`] | bytes, spans, instants, bandwidths; how people write them |
//! | [`files`] | reading files up to a size, writing them whole or not at all |
//! | [`stats`] | robust summaries, lines, segmentation |
//! | [`machine`] | nouns of the hardware: devices, streams, directions, kinds of host memory |
//! | [`kernels`] | which kernels there are, what they read, write and cost on paper |
//! | [`program`] | the calls of one way to do some work, graphs, the proof that it has no race |
//! | [`scenario`] | a TOML file, checked and resolved into a workload |
//! | [`families`] | workload to programs: the families of plans, one way to cut work each |
//! | [`timeline`] | what happened when, whether predicted or measured |
//! | [`record`] | the library that records programs, and the format of its files |
//! | [`trace`] | what a program did, from a profiler's file to calls and work of the GPU |
//! | [`samples`] | raw measurements and where they were taken |
//! | [`profile`] | the fitted machine: each cost with its scatter |
//! | [`runs`] | measured runs of plans, kept to score predictions later |
//! | [`fit`] | samples to profile |
//! | [`cost`] | program and profile to compiled program: every call with its price, no time yet |
//! | [`simulate`] | compiled program to timeline, and to an interval around it |
//! | [`schedule`] | tasks and a profile to a program: task graphs over processors and memory |
//! | [`search`] | workload to candidate plans, the best of them, break-even sizes |
//! | [`what_if`] | the machine that would be: half the link, faster kernels, pinned memory |
//! | [`advise`] | what would help a program: rewritings, proved, predicted and ranked |
//! | [`findings`] | what is true of an evaluation: answers, comparisons, costs, unknowns |
//! | [`compare`] | predicted beside measured: errors, regret, verdict; profile beside profile |
//! | [`report`] | values to text, JSON, Markdown and pictures |
//! | [`gpu`] | the device: streams, events, memory, kernels in CUDA C |
//! | [`host`] | the CPU: twins of every kernel, threads, pages |
//! | [`calibrate`] | device and CPU to samples: what is timed, and for how long |
//! | [`execute`] | plan and device to runs and checked output |
//! | [`study`] | whole protocols: calibrate, fit and assess; predict, run and score |
//! | [`cli`] | arguments, files, exit codes; one file per command |
//!
//! # What is not there
//!
//! Each room states its invariant at its top. The most important ones say what is absent:
//!
//! - No prediction in [`execute`] and [`runs`], no measured run in [`fit`], [`cost`] and
//!   [`simulate`]: neither side of a comparison can lean towards the other. What
//!   the trials of a calibration find moves the ends of ranges and no prediction.
//! - No guess in a [`profile`]: what was not measured is refused by name.
//! - No profile behind the plans of [`families`]: two machines get the same ones, and differ only
//!   in their answers. What [`schedule`] makes depends on a profile, and is kept as a program.
//! - No time in [`cost`]: it says what every call takes, and [`simulate`] says when it happens.
//! - No clock and no randomness of its own in [`simulate`]: intervals come from
//!   seeded draws, and equal inputs give equal bytes with any number of threads.
//! - No floating point in the time of plans, timelines and runs: it is whole
//!   nanoseconds. Models are fitted in `f64` and rounded where they are used.
//! - No CUDA outside [`gpu`], and none linked: the driver is loaded when it is needed, so that
//!   everything else works on a machine without one.
//! - No files in [`report`], and no terminal: the caller decides where a string goes.
//! - No output file before every input was read and checked: a bad scenario leaves nothing behind.

pub mod advise;
#[cfg(feature = "gpu")]
pub mod calibrate;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod cost;
#[cfg(feature = "gpu")]
pub mod execute;
pub mod families;
pub mod files;
pub mod findings;
pub mod fit;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "gpu")]
pub mod host;
pub mod kernels;
pub mod machine;
pub mod profile;
pub mod program;
pub mod record;
#[cfg(feature = "report")]
pub mod report;
pub mod runs;
pub mod samples;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod simulate;
pub mod stats;
#[cfg(feature = "gpu")]
pub mod study;
pub mod timeline;
pub mod trace;
pub mod units;
pub mod what_if;
