//! The JSON Schema of scenarios, for editors: derived from the types that read them, so that
//! the two cannot differ, with the parts that are not derived from a type.
//!
//! It tells the shape of a file. Whatever needs a second place to be judged, such as whether a
//! buffer of that name exists, is for `check` to say.

use super::words::{FamilyName, PlanMemory};
use crate::files::LONGEST_NAME;
use crate::kernels::{Extent, Kernel, Numbers};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// The schema of a type as it stands in a file, with a newline at its end.
pub(super) fn derived<T: JsonSchema>() -> String {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["title"] = json!("hallway scenario");
    as_toml_has_it(&mut schema);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    text + "\n"
}

/// TOML has no null: a key that is optional is left out. And lines of a description are one text.
fn as_toml_has_it(value: &mut Value) {
    const NULL: &str = "null";
    match value {
        Value::Array(values) => values.iter_mut().for_each(as_toml_has_it),
        Value::Object(map) => {
            map.values_mut().for_each(as_toml_has_it);
            map.retain(|key, value| key != "format" && !(key == "default" && is_empty(value)));
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|one| one != NULL);
                if let [one] = &types[..] {
                    map["type"] = one.clone();
                }
            }
            if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
                choices.retain(|one| one["type"] != NULL);
                if choices.len() == 1
                    && let Some(only) = map.shift_remove("anyOf")
                {
                    map.insert("allOf".to_owned(), only);
                }
            }
        }
        _ => {}
    }
}

/// Whether a default says nothing: descriptions say what holds where a key is left out.
fn is_empty(default: &Value) -> bool {
    default.is_null() || *default == json!([]) || *default == json!({})
}

pub(super) fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        // One line of text that can be part of a file's name.
        "pattern": r"^[^./\\\u0000-\u001f\u007f][^/\\\u0000-\u001f\u007f]*$",
    })
}

pub(super) fn memory(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*(B|KiB|MiB|GiB|TiB|kB|KB|MB|GB|TB)?\s*$",
    })
}

pub(super) fn families(_: &mut SchemaGenerator) -> Schema {
    let words = FamilyName::ALL.map(FamilyName::name);
    json_schema!({ "type": "array", "items": { "type": "string", "enum": words } })
}

pub(super) fn plan_memory(_: &mut SchemaGenerator) -> Schema {
    let words = PlanMemory::ALL.map(PlanMemory::name);
    json_schema!({ "type": "array", "items": { "type": "string", "enum": words } })
}

pub(super) fn kernel(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        // Editors propose the first; the second is one of a `[[kernel]]` table.
        "anyOf": [{ "enum": Kernel::ALL.map(Kernel::name) }, { "minLength": 1 }],
    })
}

/// Every argument that any kernel of the library takes, and numbers for kernels of one's own.
pub(super) fn arguments(_: &mut SchemaGenerator) -> Schema {
    let mut properties = Map::new();
    for kernel in Kernel::ALL {
        if kernel.has_factor() {
            properties.insert("a".to_owned(), factor());
        }
        if let Some(extent) = kernel.extent() {
            properties.insert(extent.name.to_owned(), number(kernel, &extent));
        }
    }
    json_schema!({
        "type": "object",
        "properties": properties,
        "additionalProperties": { "type": "number" },
    })
}

fn factor() -> Value {
    json!({
        "type": "number",
        "description": "Factor of `scale` and `saxpy`.",
        "default": crate::kernels::Arguments::default().a,
    })
}

fn number(kernel: Kernel, extent: &Extent) -> Value {
    let (least, most, default) = (extent.least, extent.most, extent.default);
    let mut schema = json!({
        "type": "integer",
        "minimum": least,
        "maximum": most,
        "default": default,
        "description": format!("For `{kernel}`: {extent}."),
    });
    match extent.numbers {
        Numbers::All => {}
        Numbers::Odd => schema["not"] = json!({ "multipleOf": 2 }),
        Numbers::PowersOfTwo => {
            let powers = (0..u32::BITS).map(|bit| 1 << bit);
            let powers: Vec<u32> = powers.filter(|power| (least..=most).contains(power)).collect();
            schema["enum"] = json!(powers);
        }
    }
    schema
}

/// Without a `[[kernel]]` table, tasks run kernels of the library alone.
pub(super) fn without_own_kernels(scenario: &mut Schema) {
    let names = Kernel::ALL.map(Kernel::name);
    let of_library = json!({ "items": { "properties": { "kernel": { "enum": names } } } });
    let rule = json!({
        "if": { "not": { "required": ["kernel"] } },
        "then": { "properties": { "task": of_library } },
    });
    scenario.insert("allOf".to_owned(), json!([rule]));
}

/// Adds to a task's schema what each kernel reads and which arguments it takes.
pub(super) fn by_kernel(task: &mut Schema) {
    let rule = |kernel: Kernel| {
        let reads = kernel.inputs();
        let arguments = match &kernel.arguments()[..] {
            [] => json!({ "maxProperties": 0 }),
            names => json!({ "propertyNames": { "enum": names } }),
        };
        json!({
            "if": { "properties": { "kernel": { "const": kernel.name() } } },
            "then": {
                "properties": {
                    "reads": { "minItems": reads, "maxItems": reads },
                    "writes": { "maxItems": 1 },
                    "arguments": arguments,
                },
            },
        })
    };
    let rules: Vec<Value> = Kernel::ALL.into_iter().map(rule).collect();
    task.insert("allOf".to_owned(), json!(rules));
}
