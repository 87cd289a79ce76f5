//! The JSON Schema of scenarios, for editors: derived from the types that read them, so that
//! the two cannot differ.
//!
//! It tells the shape of a file. Whatever needs a second place to be judged, such as whether a
//! buffer of that name exists, is for `check` to say.

use super::raw::RawScenario;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

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
