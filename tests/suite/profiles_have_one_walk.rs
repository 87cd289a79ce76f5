//! A profile's numbers are listed in one place: the walk over its prices reaches all of them, and
//! what draws, names or scales prices goes by it.

use super::predicted::{calibrated, repository};
use hallway::profile::{Amount, Profile};
use hallway::units::Bandwidth;
use serde_json::Value;

/// How the keys of numbers begin that the walk does not reach, and why.
const NO_PRICES: [(&str, &str); 9] = [
    ("accuracy.", "it says how far off predictions from the prices were"),
    ("caches.shared_bytes", "it is the size at which others were measured"),
    ("conditions.", "it says what the device reported"),
    ("inline.most_bytes", "it is a size"),
    ("interference.scatter", "it is the scatter of the prices beside it"),
    ("intervals.", "it says how sure the prices are"),
    ("link.scatter", "it is the scatter of the prices beside it"),
    ("machine.", "it describes the machine"),
    ("multi_gpu.root.scatter", "it is the scatter of the prices beside it"),
];

/// Keys of whole numbers that say what a price is of.
const SUBJECTS: [&str; 9] = [
    "device",
    "devices",
    "extent",
    "from",
    "registers_per_thread",
    "schema_version",
    "shared_bytes_per_block",
    "streams",
    "to",
];

/// Every number with the names of the keys that lead to it.
fn numbers(key: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => found.push((key.to_owned(), number.as_f64().expect("a number"))),
        Value::Array(items) => items.iter().for_each(|item| numbers(key, item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                numbers(&inner, field, found);
            }
        }
        _ => {}
    }
}

fn change(amount: Amount<'_>) {
    let beyond = |number: &mut f64| *number = 2.0 * *number + 1.0;
    let pairs = |pairs: &mut Vec<(f64, f64)>| {
        for (size, value) in pairs {
            beyond(size);
            beyond(value);
        }
    };
    match amount {
        Amount::Time(time) => {
            beyond(&mut time.ns);
            beyond(&mut time.scatter);
            if let Some(other) = &mut time.other {
                beyond(&mut other.ns);
                beyond(&mut other.share);
            }
        }
        Amount::Curve(curve) => {
            pairs(&mut curve.knots);
            beyond(&mut curve.scatter);
        }
        Amount::Number(number) => beyond(number),
        Amount::Rate(rate) => {
            *rate = Bandwidth::from_bytes_per_second(2.0 * rate.bytes_per_second());
        }
        Amount::Shares(shares) => pairs(shares),
    }
}

#[test]
fn every_number_of_a_profile_is_reached() {
    for name in ["h200", "others/two-h200"] {
        let mut profile = calibrated(name);
        let plain = |profile: &Profile| {
            let mut found = Vec::new();
            numbers("", &serde_json::to_value(profile).expect("plain data"), &mut found);
            found
        };
        let before = plain(&profile);
        profile.prices_mut().into_iter().for_each(|price| change(price.amount));
        let after = plain(&profile);
        assert_eq!(before.len(), after.len());
        for ((key, before), (_, after)) in before.iter().zip(&after) {
            let last = key.rsplit('.').next().unwrap_or_default();
            let is_listed = SUBJECTS.contains(&last)
                || NO_PRICES.iter().any(|(begin, _)| key.starts_with(begin));
            assert!(
                is_listed != (before != after),
                "{key}: reach it with `priced!`, or say why not"
            );
        }
    }
}

/// Only `prices.rs` goes into the parts of a profile; what it finds is enough for all others.
#[test]
fn no_other_file_lists_prices_to_draw() {
    let profile = repository().join("src/profile");
    for entry in std::fs::read_dir(profile).expect("the room").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("sources");
        let is_the_walk = entry.file_name() == "prices.rs";
        for word in ["impl Priced for", "fn visit<"] {
            assert!(is_the_walk || !text.contains(word), "{:?}: use `priced!`", entry.file_name());
        }
        let draws = text.contains("fn draw");
        assert!(
            !draws || entry.file_name() == "draws.rs",
            "{:?}: use `priced!`",
            entry.file_name()
        );
    }
}
