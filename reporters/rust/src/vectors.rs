// SPDX-License-Identifier: Apache-2.0

//! Reads the tables of `openapi/vectors` for tests.

use serde_json::Value;

const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors/tables.json");

/// Checks every row of the tables of one kind.
pub(crate) fn rows(kind: &str, check: impl Fn(&Value)) {
    let text = std::fs::read_to_string(TABLES).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let tables = document["tables"].as_array().unwrap();
    let mut count = 0;
    for table in tables.iter().filter(|table| table["table"] == kind) {
        for row in table["rows"].as_array().unwrap() {
            if row["needs"].is_null() {
                println!("{}", row["name"]); // shown when the row fails
                check(row);
                count += 1;
            }
        }
    }
    assert!(count > 0, "there is no table {kind}");
}

/// A list of texts, empty where there is none.
pub(crate) fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// A number, or one that JSON cannot say.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value["$float"].as_str() {
        Some(text) => text.parse().ok(),
        None => value.as_f64(),
    }
}

/// The value of a metric.
pub(crate) fn value(from: &Value) -> crate::Value {
    match from {
        Value::Bool(yes) => (*yes).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Value::Object(map) => match (number(from), map.get("$int")) {
            (Some(float), _) => float.into(),
            (None, Some(digits)) => digits.as_str().unwrap().parse::<i128>().unwrap().into(),
            (None, None) => map.iter().map(|(name, one)| (name.as_str(), value(one))).collect(),
        },
        _ => None::<f64>.into(),
    }
}
