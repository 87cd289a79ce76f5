//! Whatever the bytes are, reading them gives a trace or says what is wrong.

use super::record;
use hallway::record::format::{
    COSTS, EMPTY_KERNEL, FUNCTIONS, Form, HEADER, MAGIC, VERSION, block_checksum,
};
use hallway::trace::{Defect, HostTime, RecordingError, Spelling, read_recording};
use hallway::units::Span;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::LazyLock;

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| record(&[], &["starts another"], &[]).bytes());
static IN_RANGES: LazyLock<Vec<u8>> = LazyLock::new(|| record(&[], &["ranges"], &[]).bytes());

#[test]
fn cut_anywhere_the_rest_is_read() {
    let whole = &*WHOLE;
    let start = MAGIC.len() + VERSION.len();
    let mut calls = 0;
    for end in (0..whole.len()).step_by((whole.len() / 400).max(1)) {
        match read_recording(&whole[..end]) {
            Ok(trace) => {
                assert!(end >= start);
                assert!(trace.defects.contains_key(&Defect::Cut), "{end}");
                assert!(trace.calls.len() >= calls, "{end}");
                calls = trace.calls.len();
            }
            Err(error) => assert_eq!((error, end < start), (RecordingError::NotARecording, true)),
        }
    }
    assert!(calls >= 12, "{calls}");
}

#[test]
fn a_damaged_byte_is_noticed() {
    let whole = &*WHOLE;
    for at in (0..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        match read_recording(&damaged) {
            // A length that reaches beyond the end looks like a file that was cut.
            Ok(trace) => assert!(trace.defects.contains_key(&Defect::Cut), "{at}"),
            Err(RecordingError::Damaged(_)) => {}
            Err(_) => assert!(at < MAGIC.len() + VERSION.len(), "{at}"),
        }
    }
}

#[test]
fn other_versions_and_other_files_are_refused() {
    let newer = [MAGIC, b"3\n"].concat();
    assert_eq!(read_recording(&newer), Err(RecordingError::Version("3".to_owned())));
    for other in [&b""[..], b"hallway recording ", b"hallway recording x\n", b"{}"] {
        assert_eq!(read_recording(other), Err(RecordingError::NotARecording));
    }
}

/// Blocks of a recording, as kind and payload.
fn blocks(mut rest: &[u8]) -> Vec<(u8, Vec<u8>)> {
    rest = &rest[MAGIC.len() + VERSION.len()..];
    let mut blocks = Vec::new();
    while let Some((header, after)) = rest.split_at_checked(HEADER) {
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        blocks.push((header[0], after[..length].to_vec()));
        rest = &after[length..];
    }
    blocks
}

fn file(blocks: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = [MAGIC, VERSION].concat();
    for (kind, payload) in blocks {
        bytes.push(*kind);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(block_checksum(*kind, payload).to_le_bytes());
        bytes.extend(payload);
    }
    bytes
}

/// What recording adds between two calls is half the end of one and half the begin of the next.
#[test]
fn the_recorders_time_lies_between_calls() {
    let mut blocks = blocks(&record(&[], &["everything"], &[]).bytes());
    let costs = [(Form::Launch, 90_u8), (Form::Record, 50), (Form::Wait, 30)];
    let costs = costs.iter().flat_map(|(form, nanos)| [*form as u8, *nanos]);
    let payload = costs.chain([EMPTY_KERNEL, 40]).collect();
    let place = 1 + blocks.iter().position(|(kind, _)| *kind == FUNCTIONS).expect("functions");
    blocks.insert(place, (COSTS, payload));
    let trace = read_recording(&file(&blocks)).expect("a recording");
    let taken = |at: usize| (&*trace.calls[at].function, trace.calls[at].recorder.nanos());
    assert_eq!(taken(1), ("cudaMemcpyAsync", 0));
    assert_eq!(taken(2), ("cudaLaunchKernel", 45));
    assert_eq!(taken(3), ("cudaEventRecord", 70));
    assert_eq!(taken(4), ("cudaStreamWaitEvent", 40));
    assert_eq!(taken(5), ("cudaStreamWaitEvent", 30));
    assert_eq!(taken(6), ("cuMemcpyDtoH", 15));
    // A kernel's own time is what it takes beyond one that does nothing: here 100 ns less 40.
    assert_eq!(trace.empty_kernel, Some(Span::from_nanos(40)));
    let spelled = trace.spelled("kernels", 0..trace.calls.len(), Spelling::default());
    assert!(spelled.text.contains("fixed = \"60 ns\""), "{}", spelled.text);
    // The host did nothing for 250 ns before the launch but for what the recorder took.
    let how = Spelling { host: HostTime::WithoutRecorder, ..Spelling::default() };
    let without = trace.spelled("kernels", 0..trace.calls.len(), how);
    let differ =
        [&spelled.text, &without.text].map(|text| text.matches("work = \"250 ns\"").count());
    assert!(differ[0] > differ[1], "{}", without.text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Blocks whose checksums are right, and whose contents are not.
    #[test]
    fn blocks_that_make_no_sense_are_refused(
        changes in vec((any::<Index>(), any::<u16>(), any::<u8>()), 1..6),
        kinds in vec((any::<Index>(), 0_u8..13), 0..2),
    ) {
        let mut blocks = [blocks(&WHOLE), blocks(&IN_RANGES)].concat();
        for (block, at, byte) in changes {
            let index = block.index(blocks.len());
            let payload = &mut blocks[index].1;
            if !payload.is_empty() {
                let at = usize::from(at) % payload.len();
                payload[at] = byte;
            }
        }
        for (block, kind) in kinds {
            let index = block.index(blocks.len());
            blocks[index].0 = kind;
        }
        if let Ok(trace) = read_recording(&file(&blocks)) {
            prop_assert!(trace.calls.iter().all(|call| call.thread < trace.threads.len()));
            prop_assert!(trace.ranges.iter().all(|one| one.thread < trace.threads.len()));
            let calls = trace.calls.len();
            prop_assert!(trace.work.iter().all(|work| work.call.is_none_or(|call| call < calls)));
            prop_assert!(trace.calls.is_sorted_by_key(|call| call.begin));
        }
    }

    #[test]
    fn random_blocks_are_met(
        blocks in vec((0_u8..13, vec(any::<u8>(), 0..60)), 0..12),
    ) {
        let mut all = vec![(1, vec![1, 0, 0, 0, 0]), (2, vec![4, 1, b'k', 1, 1, b'c'])];
        all.extend(blocks);
        let _ = read_recording(&file(&all));
    }
}
