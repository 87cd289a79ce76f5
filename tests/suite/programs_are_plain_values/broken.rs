//! Texts that are no programs.

use super::super::any_program_is_read::{drawn::drawn, readers::read as read_by_all};
use super::super::machines::machine_of_two;
use super::{from_text, read_back, workload};
use hallway::execute::check_orders;
use hallway::families::{
    Buffered, ByChunk, ByEngine, Cpu, Each, Family, Issue, MultiGpu, Resident, RoundTrip, Spread,
    Strategy, build,
};
use hallway::host::Team;
use hallway::machine::HostMemory;
use hallway::program::Program;
use hallway::units::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A program of each family, and some of none.
static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let workload = workload();
    let families = [
        Family::Cpu(Cpu),
        Family::RoundTrip(RoundTrip),
        Family::Resident(Resident),
        Family::ByChunk(ByChunk { chunks: 2, streams: 2, issue: Issue::DepthFirst }),
        Family::ByEngine(ByEngine { chunks: 2 }),
        Family::Buffered(Buffered { chunks: 3, ring: 2 }),
        Family::MultiGpu(MultiGpu {
            chunks: 2,
            devices: 2,
            each: Each::ByEngine,
            spread: Spread::Peers,
        }),
    ];
    let memory =
        |family| if family == Family::Cpu(Cpu) { HostMemory::Pageable } else { HostMemory::Pinned };
    let plain = families.map(|family| Strategy {
        family,
        memory: memory(family),
        graph: false,
        each_pass: false,
    });
    let graph = Strategy { graph: true, ..plain[2] };
    let built = plain.into_iter().chain([graph]).map(|strategy| build(&workload, strategy));
    let built = built.map(|program| program.expect("it can be done"));
    built.chain((0..8).map(drawn)).collect()
});

fn program(label: &str) -> &'static Program {
    let found = PROGRAMS.iter().find(|program| program.label.starts_with(label));
    found.unwrap_or_else(|| panic!("no {label}"))
}

fn value(program: &Program) -> Value {
    serde_json::to_value(program).expect("plain data")
}

fn refusal(text: &str) -> String {
    from_text(text).expect_err("no program")
}

#[test]
fn what_is_cut_off_is_refused_wherever_the_cut_is() {
    let text = value(program("resident")).to_string();
    for end in (0..text.len() - 1).filter(|&end| text.is_char_boundary(end)) {
        refusal(&text[..end]);
    }
    let error = refusal("{\n  \"label\": \"x\"\n}");
    assert!(error.contains("missing field `allocations`"), "{error}");
}

/// The place of the first call of a kind in the body.
fn first(of: &Value, kind: &str) -> usize {
    let body = of["body"].as_array().expect("calls");
    body.iter().position(|call| call.get(kind).is_some()).unwrap_or_else(|| panic!("no {kind}"))
}

/// Changes a program of this label where the path leads, and expects to read this.
#[track_caller]
fn refused(label: &str, change: impl Fn(&mut Value), expected: &str) {
    let mut value = value(program(label));
    change(&mut value);
    let error = refusal(&value.to_string());
    assert!(error.contains(expected), "`{expected}` is not in: {error}");
}

/// Changes the first call of a kind in the body.
#[track_caller]
fn refused_call(label: &str, kind: &str, change: impl Fn(&mut Value), expected: &str) {
    let at = first(&value(program(label)), kind);
    refused(label, |value| change(&mut value["body"][at][kind]), &format!("body[{at}] {expected}"));
}

fn set(path: &'static str, to: impl Into<Value>) -> impl Fn(&mut Value) {
    let to = to.into();
    move |value| *value.pointer_mut(path).expect("it is there") = to.clone()
}

#[test]
fn names_of_what_is_not_there_are_refused_with_their_call() {
    let streams = program("by-engine").streams.len();
    let no_stream =
        format!("uses stream {streams}, but the program has {streams} (numbered from 0)");
    for (kind, path, to, expected) in [
        ("Copy", "/by/stream/0", streams as u64, no_stream.as_str()),
        ("Copy", "/from/allocation", 99, "uses allocation 99, but the "),
        ("Copy", "/from/length", 1 << 40, "uses 1 TiB starting at byte 0 of"),
        ("Copy", "/to/offset", u64::MAX - 3, "uses 20 B starting at byte 18446744073709551612 of"),
        ("Copy", "/from/length", 0, "uses an empty range at byte 0 of"),
        ("Wait", "/event", 1 << 20, "uses event 1048576, but the "),
        ("Launch", "/step/output/offset", 2, "uses 384 bytes starting at byte 2 of"),
        ("Launch", "/step/arguments/extent", 4, "uses taps = 4 for `convolution`, which takes an"),
        ("Launch", "/step/lead", 9, "uses a `lead` of 9 elements for"),
        ("Launch", "/step/inputs/0/length", 4, "uses 1 element as input 0 of `convolution`"),
    ] {
        refused_call("by-engine", kind, set(path, to), expected);
    }
    let drop_input = |call: &mut Value| {
        call.pointer_mut("/step/inputs").and_then(Value::as_array_mut).expect("a list").pop();
    };
    let one_input = "uses 1 input for `convolution`, which takes 2";
    refused_call("by-engine", "Launch", drop_input, one_input);
    refused_call("graph of", "Replay", set("/calls", 999), "uses 999 calls in a graph, but only");
    let no_gpu = "uses GPU 2, but the program has 2 (numbered from 0)";
    refused_call("multi-gpu", "Use", set("", 2), no_gpu);
    for (path, to, expected) in [
        ("/allocations/0/bytes", json!(1_u64 << 60), "its allocations exceed 1024 TiB in total"),
        ("/events", json!(u64::MAX), "it has 18446744073709551615 events but only"),
        ("/streams/0/device", json!(u64::MAX), "streams[0] is on GPU 18446744073709551615, but"),
        ("/allocations/0/place", json!({ "device": 3 }), "allocations[0], `x`, is on a GPU"),
        ("/setup", json!([]), "`, which no earlier call has allocated"),
    ] {
        refused("resident", set(path, to), expected);
    }
    let unknown = |value: &mut Value| value["allocations"][0]["hold"] = json!(1);
    refused("resident", unknown, "unknown field `hold`");
}

#[test]
fn calls_that_contradict_themselves_are_refused_with_their_place() {
    for (path, to, expected) in [
        (
            "/by/stream/1/crossing",
            json!("device-to-host"),
            "copies D2H from `weights` to `weights`",
        ),
        ("/to/length", json!(4), "copies 20 B to a range of 4 B"),
        ("/by/stream/1", json!("to-peer"), "is a copy between GPUs, but its source or target is"),
    ] {
        refused_call("by-engine", "Copy", set(path, to), expected);
    }
    let rows = |value: &mut Value| {
        let body = value["body"].as_array_mut().expect("calls");
        let is_peer_copy = |call: &&mut Value| call["Copy"]["by"]["stream"][1] == "to-peer";
        let copy = body.iter_mut().find(is_peer_copy).expect("from one GPU to the others");
        copy["Copy"]["rows"] = json!({ "row": 4, "pitch": [8, 8] });
    };
    refused("multi-gpu", rows, "copies rows between GPUs");
    // Devices reach page-locked memory of the host, and no other.
    let on_host = |value: &mut Value| {
        let launch = first(value, "Launch");
        value["body"][launch]["Launch"]["step"]["inputs"][0]["allocation"] = json!(0);
        let copies = value["body"].as_array_mut().expect("calls");
        copies.retain(|call| call.get("Launch").is_some());
        value["allocations"][0]["place"] = json!({ "host": "pageable" });
        value["setup"].as_array_mut().expect("calls").remove(0);
    };
    refused("by-engine", on_host, "uses `x` in stream 1, but it is not on GPU 0");
    let remove = |value: &mut Value| {
        let at = first(value, "Use");
        value["body"].as_array_mut().expect("calls").remove(at);
    };
    refused("multi-gpu", remove, "is for GPU 1, but the current context is that of GPU 0");
    let twice = |value: &mut Value| {
        let setup = value["setup"].as_array_mut().expect("calls");
        let call = setup.iter().find(|call| call.get("Allocate").is_some()).cloned();
        setup.extend(call);
    };
    refused("resident", twice, "`, which is already allocated");
    let in_setup = |value: &mut Value| {
        let call = json!({ "Replay": { "stream": 0, "calls": 0 } });
        value["setup"].as_array_mut().expect("calls").push(call);
    };
    refused("resident", in_setup, "launches a graph in the set-up; only the body can");
    refused_call("graph of", "Replay", set("/calls", 0), "launches a graph without calls");
    let everything = |value: &mut Value| {
        let at = first(value, "Replay");
        let calls = value["body"].as_array().expect("calls").len() - at - 1;
        value["body"][at]["Replay"]["calls"] = json!(calls);
    };
    refused("graph of", everything, "is in a graph: ");
    let default = json!({ "kind": "LegacyDefault", "priority": 0, "device": 0 });
    let defaults = set("/streams", vec![default; 3]);
    refused("by-engine", defaults, "GPU 0 has two legacy default streams");
}

/// All places in a value, the whole first.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    found.push(at.clone());
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, one)| places(one, format!("{at}/{i}"), found));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, one)| places(one, format!("{at}/{key}"), found));
        }
        _ => {}
    }
}

fn change(value: &mut Value, place: prop::sample::Index, kind: usize, number: u64) {
    let mut found = Vec::new();
    places(value, String::new(), &mut found);
    let path = place.get(&found);
    let near = value.pointer(path).and_then(Value::as_u64).unwrap_or(1);
    let other = || value.pointer(found[number as usize % found.len()].as_str()).cloned();
    let new = match kind {
        0 => json!(number % 7),
        1 => json!(number),
        2 => json!(near.wrapping_add(1)),
        3 => json!(near.wrapping_sub(1)),
        4 => json!(near.wrapping_mul(2)),
        5 => json!(near / 8 * 4),
        6 => [json!(null), json!([]), json!({}), json!("x"), json!(-1), json!(1e39), json!(0.5)]
            [number as usize % 7]
            .clone(),
        // A piece of the program at another place.
        _ => other().unwrap_or_default(),
    };
    let (parent, key) = path.rsplit_once('/').unwrap_or(("", ""));
    match (value.pointer_mut(parent), kind) {
        // Calls go, or come twice.
        (Some(Value::Array(list)), 8) if !path.is_empty() => {
            list.remove(key.parse().expect("a place in the list"));
        }
        (Some(Value::Array(list)), 9) if !path.is_empty() => {
            let at: usize = key.parse().expect("a place in the list");
            let again = list[at].clone();
            list.insert(at, again);
        }
        _ => *value.pointer_mut(path).expect("it was found") = new,
    }
}

#[test]
fn costs_that_are_none_are_refused() {
    let with_kernels = PROGRAMS.iter().find(|program| !program.kernels.is_empty());
    let mut value = value(with_kernels.expect("a drawn one has some"));
    let costs = [
        (json!({ "points": [] }), "no point"),
        (json!({ "points": [[7, 1], [7, 2]] }), "a point of 7 elements after 7"),
        (json!({ "stated": { "fixed": -1.0, "per_element": 0.0 } }), "a cost of -1"),
        (json!({ "roofline": { "flops_per_element": 1.0, "bytes_per_element": -2.0 } }), "of -2"),
    ];
    for (cost, expected) in costs {
        value["kernels"][0]["cpu"] = json!({ "cost": cost });
        let error = refusal(&value.to_string());
        assert!(error.contains(expected), "`{expected}` is not in: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    /// Whatever is accepted, no reader panics over it.
    #[test]
    fn a_changed_program_is_refused_or_read_by_all(
        of in any::<prop::sample::Index>(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..10_usize, any::<u64>()), 1..4,
        ),
    ) {
        let mut value = value(of.get(&PROGRAMS));
        for (place, kind, number) in changes {
            change(&mut value, place, kind, number);
        }
        let Ok(program) = from_text(&value.to_string()) else { return Ok(()) };
        prop_assert_eq!(read_back(&program), Ok(program.clone()));
        let profile = machine_of_two([8.0, 8.0, 16.0]);
        let _ = read_by_all(&program, &profile, &workload());
        // This one takes all memory that the program names.
        let bytes = program.allocations.iter().map(|one| one.bytes).sum::<Bytes>();
        if bytes < Bytes::mib(16) {
            let team = Team::new(1).expect("a thread");
            let _ = check_orders(&program, &team, 1);
        }
    }
}
