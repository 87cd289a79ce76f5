//! A table to fill in.

use super::several::WORKS;
use super::words::{CALLS, NOT_KNOWN, OPERATIONS, known_columns};
use crate::machine::OperationKind;
use crate::samples::{GraphCall, SetupStep, TimedCall};

/// Lines of one kind: a comment, and what stands in the columns of each line.
struct Block {
    about: &'static str,
    lines: Vec<Vec<(&'static str, &'static str)>>,
}

/// A table with every kind of line that a machine of one GPU needs, and `?` for each time. Lines
/// whose `?` stays count for nothing.
pub fn table_template() -> String {
    let columns = columns();
    let mut text = String::from(HEAD);
    text += &columns.join(",");
    text.push('\n');
    for Block { about, lines } in blocks() {
        for comment in about.lines() {
            text += &format!("# {comment}\n");
        }
        for line in lines {
            let value = |column: &&str| match line.iter().find(|(name, _)| name == column) {
                Some((_, value)) => *value,
                None if *column == "seconds" => NOT_KNOWN,
                None => "",
            };
            text += &columns.iter().map(value).collect::<Vec<_>>().join(",");
            text.push('\n');
        }
    }
    text
}

const HEAD: &str = "\
# Replace each `?` with the value you know; times are in seconds, such as 23.1e-6. Lines that keep
# their `?` are ignored, but the GPU, its multiprocessors and its memory are required. Then run
#   hallway fit TABLE.csv --like calibration/h200 --output PROFILE.toml
# which borrows the costs that you leave open under \"Can be borrowed\". Kernels and sizes are only
# examples.
# gpu = ?
# multiprocessors = ?
# device_memory = ?
# cpu_threads = ?
";

/// The columns that lines of the template use, and the arguments of all kernels.
fn columns() -> Vec<&'static str> {
    let blocks = blocks();
    let is_used = |column: &&str| {
        let of_line = |line: &Vec<(&str, &str)>| line.iter().any(|(name, _)| name == column);
        *column == "seconds" || blocks.iter().any(|block| block.lines.iter().any(of_line))
    };
    known_columns().into_iter().filter(is_used).collect()
}

const SIZES: [&str; 7] = ["4096", "65536", "262144", "1048576", "4194304", "67108864", "268435456"];
const WAYS: [(&str, &str); 2] = [("H2D", "D2H"), ("D2H", "H2D")];

fn blocks() -> Vec<Block> {
    let mut blocks = copies();
    blocks.push(Block {
        about: "Your kernel on the GPU, and on all CPU threads. `hallway kernels` lists the \
                names.",
        lines: ["65536", "1048576", "67108864"]
            .into_iter()
            .flat_map(|elements| {
                ["gpu", "cpu"].map(|processor| {
                    vec![("kernel", "scale"), ("elements", elements), ("processor", processor)]
                })
            })
            .collect(),
    });
    blocks.extend(borrowable());
    blocks
}

fn copies() -> Vec<Block> {
    let each = |of: &dyn Fn(&'static str, &'static str, &'static str) -> Vec<_>| {
        WAYS.into_iter().flat_map(|(way, other)| SIZES.map(|bytes| of(way, other, bytes))).collect()
    };
    let beside = |kernel: bool| {
        let of_way = |(way, _)| {
            if kernel {
                vec![("kernel", "scale"), ("elements", "67108864"), ("concurrent", way)]
            } else {
                let copy = [("path", way), ("memory", "pinned"), ("bytes", "67108864")];
                [&copy[..], &[("concurrent", "kernel")]].concat()
            }
        };
        WAYS.map(of_way).to_vec()
    };
    vec![
        Block {
            about: "Copies of pinned memory, one direction at a time.",
            lines: each(&|way, _, bytes| {
                vec![("path", way), ("memory", "pinned"), ("bytes", bytes)]
            }),
        },
        Block {
            about: "The same with as many copies in the other direction, for plans that \
                    overlap.\nFill in at least two sizes from 1 to 4 MiB, or also smaller ones.",
            lines: each(&|way, other, bytes| {
                let copy = [("path", way), ("memory", "pinned"), ("bytes", bytes)];
                [&copy[..], &[("concurrent", other)]].concat()
            }),
        },
        Block {
            about: "Copies of pageable memory until they are complete, for plans without pinning.",
            lines: each(&|way, _, bytes| {
                vec![("path", way), ("memory", "pageable"), ("bytes", bytes)]
            }),
        },
        Block {
            about: "Copies during kernels, and kernels during copies. Can be borrowed; on \
                    older\nGPUs, kernels slow down copies.",
            lines: [beside(false), beside(true)].concat(),
        },
    ]
}

/// What `--like` borrows.
fn borrowable() -> Vec<Block> {
    let one = |column| move |value: &'static str| vec![(column, value)];
    let of_one_gpu = |(_, kind): &&(&str, OperationKind)| *kind != OperationKind::PeerCopy;
    let kinds: Vec<&'static str> =
        OPERATIONS.iter().filter(of_one_gpu).map(|(name, _)| *name).collect();
    let calls = CALLS.iter().filter(|call| {
        call.of_library().is_none() && !matches!(call, TimedCall::PeerCopy | TimedCall::UseDevice)
    });
    let mut operations: Vec<_> = kinds.iter().map(|&kind| one("operation")(kind)).collect();
    let mut nodes: Vec<_> =
        kinds.iter().map(|&kind| vec![("operation", kind), ("streams", "graph")]).collect();
    for &kind in &kinds {
        for &after in &kinds {
            let pair = [("operation", kind), ("after", after)];
            let with = |streams| [&pair[..], &[("streams", streams)]].concat();
            operations.push(with("one"));
            operations.push(with("two"));
            nodes.push(with("graph"));
        }
    }
    let streams = ["2", "4"].into_iter().flat_map(|streams| {
        WAYS.map(|(way, _)| {
            vec![("path", way), ("memory", "pinned"), ("bytes", "1048576"), ("streams", streams)]
        })
    });
    let waiting = ["2", "4"].map(|streams| {
        let copy = [("path", "H2D"), ("memory", "pinned"), ("bytes", "1048576")];
        [&copy[..], &[("streams", streams), ("waiting", "4")]].concat()
    });
    let polled = ["", "H2D", "D2H", "both"].map(|meanwhile| {
        let kernel = [("operation", "kernel"), ("after", "kernel"), ("waiting", "3")];
        [&kernel[..], &[("concurrent", meanwhile)]].concat()
    });
    let graphs = GraphCall::ALL
        .iter()
        .flat_map(|call| ["8", "64"].map(|nodes| vec![("graph", call.word()), ("nodes", nodes)]));
    let works = WORKS.iter().flat_map(|work| {
        ["1048576", "268435456"].map(|bytes| vec![("manage", work.word()), ("bytes", bytes)])
    });
    vec![
        Block {
            about: "Host time of calls. Can be borrowed.",
            lines: calls.map(|call| one("call")(call.word())).collect(),
        },
        Block {
            about: "Round trips of one operation, and the time from the end of one operation \
                    to\nthe start of the next. Can be borrowed.",
            lines: operations,
        },
        Block {
            about: "Several streams on one engine: one copy in each stream; copies that kernels \
                    in\nother streams wait for; kernels while others wait in other streams. Can \
                    be\nborrowed.",
            lines: streams.chain(waiting).chain(polled).collect(),
        },
        Block { about: "Graphs. Can be borrowed.", lines: graphs.chain(nodes).collect() },
        Block {
            about: "Allocating, pinning and first touches. Can be borrowed.",
            lines: works.chain(SetupStep::ALL.map(|step| one("setup")(step.word()))).collect(),
        },
    ]
}
