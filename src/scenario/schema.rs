//! The JSON Schema of scenarios, for editors: derived from the types that read them, so that
//! the two cannot differ.
//!
//! It tells the shape of a file. Whatever needs a second place to be judged, such as whether a
//! buffer of that name exists, is for `check` to say.

use super::check::{FAMILIES, LARGEST_COUNT, LONGEST_NAME};
use super::raw::RawScenario;
use crate::kernels::{Extent, Kernel, Numbers};
use crate::machine::MOST_CPU_THREADS;
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};

/// The schema as it stands in a file, with a newline at its end.
pub fn derived_schema() -> String {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<RawScenario>().to_value();
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

pub(super) fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": LARGEST_COUNT })
}

pub(super) fn threads(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": MOST_CPU_THREADS })
}

pub(super) fn memory(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*(B|KiB|MiB|GiB|TiB|kB|KB|MB|GB|TB)?\s*$",
    })
}

pub(super) fn families(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "enum": FAMILIES } })
}

pub(super) fn chunks(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": count(generator) })
}

pub(super) fn kernel(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Kernel::ALL.map(Kernel::name) })
}

/// Every argument that any kernel takes.
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
        "additionalProperties": false,
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
                    "arguments": arguments,
                },
            },
        })
    };
    let rules: Vec<Value> = Kernel::ALL.into_iter().map(rule).collect();
    task.insert("allOf".to_owned(), json!(rules));
}
