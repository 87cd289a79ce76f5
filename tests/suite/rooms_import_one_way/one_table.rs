//! The text form of a call is one table: its keys are listed there and nowhere else.

use super::{Complaints, sources};
use hallway::scenario::derived_schema;
use serde_json::Value;

/// As many keys in one file may be told of in messages; more are a second list.
const NAMED_IN_MESSAGES: usize = 2;

#[test]
fn keys_of_calls_are_listed_once() {
    let schema: Value = serde_json::from_str(&derived_schema()).expect("JSON");
    let keys_of =
        |table: &str| schema["definitions"][table]["properties"].as_object().expect("keys").keys();
    // A kernel's table has a few keys of the same names.
    let keys: Vec<&String> =
        keys_of("Call").filter(|key| keys_of("Kernel").all(|other| other != *key)).collect();
    assert!(keys.len() > 25, "only {keys:?}");
    let mut complaints = Complaints::default();
    for source in sources("src/program") {
        let is_table = source.text.contains("table_of_calls! {");
        let code: Vec<&str> = source.code().map(|(_, code)| code).collect();
        let has = |what: String| code.iter().any(|line| line.contains(&what));
        let named = keys.iter().filter(|key| has(format!("\"{key}\""))).count();
        let declared = keys.iter().filter(|key| has(format!("pub {key}: Option<"))).count();
        if !is_table && named.max(declared) > NAMED_IN_MESSAGES {
            complaints.add(&source, 1, "lists keys of calls, which is for their table to do");
        }
    }
    complaints.none();
}
