//! The JSON Schema of scenarios takes what hallway takes, and is the one in the docs.

use super::*;
use crate::said::is_as_blessed;
use boon::{Compiler, SchemaIndex, Schemas};
use hallway::scenario::{Template, derived_schema};
use serde_json::Value;

/// The schema, ready to judge.
pub struct Judge {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Judge {
    /// One who knows what scenarios may be.
    pub fn new() -> Self {
        Self::of(serde_json::from_str(&derived_schema()).expect("JSON"))
    }

    /// One who knows any schema.
    pub fn of(schema: Value) -> Self {
        const PLACE: &str = "https://example.com/schema.json";
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(PLACE, schema).expect("a schema");
        let index = compiler.compile(PLACE, &mut schemas).expect("a schema of draft 7");
        Self { schemas, index }
    }

    /// What is wrong with a text, if it is TOML.
    pub fn judge(&self, text: &str) -> Result<(), String> {
        let value: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        self.judge_value(&serde_json::to_value(value).expect("plain data"))
    }

    /// What is wrong with a value.
    pub fn judge_value(&self, value: &Value) -> Result<(), String> {
        self.schemas.validate(value, self.index).map_err(|error| format!("{error:#}"))
    }
}

#[test]
fn takes_every_shipped_scenario() {
    let judge = Judge::new();
    for path in scenarios(&["", "faq", "graphs", "memory", "programs"]) {
        let text = std::fs::read_to_string(&path).expect("readable");
        judge.judge(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    }
    for template in Template::ALL {
        judge.judge(&template.text("mine", "schema.json")).expect("valid");
    }
}

#[test]
fn is_what_the_command_prints_and_the_docs_have() {
    // What the command prints is the file, as it was when the command was built.
    is_as_blessed("docs/reference/scenario.schema.json", &derived_schema());
    let printed = ran(repository(), ["schema"]);
    assert_eq!(printed.status.code(), Some(0));
    assert_eq!(stdout(&printed), derived_schema());
}

#[test]
fn describes_every_key() {
    let schema: Value = serde_json::from_str(&derived_schema()).expect("JSON");
    let mut to_do = vec![("", &schema)];
    let mut keys = 0;
    while let Some((name, value)) = to_do.pop() {
        let parts = ["definitions", "properties"];
        let tables = parts.iter().filter_map(|part| value.get(part)?.as_object());
        to_do.extend(tables.flatten().map(|(key, value)| (key.as_str(), value)));
        assert!(value["description"].is_string(), "`{name}` is not described");
        keys += 1;
    }
    assert!(keys > 30, "only {keys} keys");
}
