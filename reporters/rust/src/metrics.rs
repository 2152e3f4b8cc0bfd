// SPDX-License-Identifier: Apache-2.0

//! Names and values of metrics.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::numbers::{format_f32, format_f64};
use crate::wire::{
    Metric, METRIC_NAME_MAX_LENGTH, METRIC_NAME_MIN_LENGTH, METRIC_VALUE_MAX_LENGTH, METRIC_VALUE_MIN_LENGTH,
    TRAINER_STATUS_METRICS_MAX_ITEMS,
};

/// The value of a metric: a number, a boolean, text, or named values below a common name.
///
/// It is made from these by `into()`. Numbers are written with the fewest digits that read back as
/// the same number. `None` is left out.
///
/// ```
/// use milepost_reporter::{Report, Value};
/// let nested: Value = [("f1", 0.5), ("recall", 0.25)].into();
/// let report = Report::step(1, 10).metric("loss", 0.2).metric("eval", nested);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Value(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text(String),
    Map(Vec<(String, Value)>),
    Nothing,
}

macro_rules! whole_numbers {
    ($($kind:ty)*) => { $(
        impl From<$kind> for Value {
            fn from(number: $kind) -> Self { Self(Kind::Text(number.to_string())) }
        }
    )* };
}

whole_numbers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self(Kind::Text(format_f64(number)))
    }
}

impl From<f32> for Value {
    fn from(number: f32) -> Self {
        Self(Kind::Text(format_f32(number)))
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self(Kind::Text(if yes { "1" } else { "0" }.to_owned()))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(Kind::Text(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(Kind::Text(text))
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Self(Kind::Text(text.into_owned()))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(Kind::Nothing), Into::into)
    }
}

impl<N: Into<String>, V: Into<Value>> From<Vec<(N, V)>> for Value {
    fn from(entries: Vec<(N, V)>) -> Self {
        entries.into_iter().collect()
    }
}

impl<N: Into<String>, V: Into<Value>, const COUNT: usize> From<[(N, V); COUNT]> for Value {
    fn from(entries: [(N, V); COUNT]) -> Self {
        entries.into_iter().collect()
    }
}

impl<N: Into<String>, V: Into<Value>> From<BTreeMap<N, V>> for Value {
    fn from(entries: BTreeMap<N, V>) -> Self {
        entries.into_iter().collect()
    }
}

/// The entries are sorted by their names.
impl<N: Into<String>, V: Into<Value>, S> From<HashMap<N, V, S>> for Value {
    fn from(entries: HashMap<N, V, S>) -> Self {
        let mut entries: Vec<(String, V)> = entries.into_iter().map(|(n, v)| (n.into(), v)).collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.into()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self(Kind::Map(entries.map(|(n, v)| (n.into(), v.into())).collect()))
    }
}

/// The metrics of one call as they will be sent, and the names of those that cannot. D7, D8.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricList {
    pub items: Vec<Metric>,
    pub unfit: Vec<String>,
}

impl MetricList {
    pub fn add(&mut self, name: String, value: Value) {
        match value.0 {
            Kind::Text(value)
                if fits(&name, METRIC_NAME_MIN_LENGTH, METRIC_NAME_MAX_LENGTH)
                    && fits(&value, METRIC_VALUE_MIN_LENGTH, METRIC_VALUE_MAX_LENGTH) =>
            {
                self.items.push(Metric { name, value });
            }
            Kind::Map(entries) if fits(&name, 0, METRIC_NAME_MAX_LENGTH) => {
                for (inner, value) in entries {
                    self.add(format!("{name}/{inner}"), value);
                }
            }
            _ => self.unfit.push(name),
        }
    }
}

/// Counts code points only where bytes do not decide.
fn fits(text: &str, least: usize, most: usize) -> bool {
    let mut count = text.len();
    if count > most {
        count = text.chars().take(most + 1).count();
    }
    (least..=most).contains(&count)
}

const MAX_BODY: usize = 64 << 10;
/// Room for everything but the metrics.
const REST_OF_BODY: usize = 256;

/// Drops what the server would not take. What is marked to be kept comes first; the order stays. D9.
pub(crate) fn select(items: &[Metric], keep: &[String]) -> Vec<Metric> {
    if items.len() <= TRAINER_STATUS_METRICS_MAX_ITEMS && bounded(items) {
        return items.to_vec();
    }
    let mut taken = vec![false; items.len()];
    let (mut count, mut room) = (0, MAX_BODY - REST_OF_BODY);
    for marked in [true, false] {
        for (item, taken) in items.iter().zip(&mut taken) {
            if keep.contains(&item.name) != marked || count == TRAINER_STATUS_METRICS_MAX_ITEMS {
                continue;
            }
            if let Some(left) = room.checked_sub(encoded_size(item)) {
                (*taken, count, room) = (true, count + 1, left);
            }
        }
    }
    let chosen = items.iter().zip(taken).filter(|(_, taken)| *taken);
    chosen.map(|(item, _)| item.clone()).collect()
}

/// Tells cheaply that the metrics fit into a body even if every byte needs an escape.
fn bounded(items: &[Metric]) -> bool {
    let sizes = items.iter().map(|m| r#"{"name":"","value":""},"#.len() + 6 * (m.name.len() + m.value.len()));
    sizes.sum::<usize>() <= MAX_BODY - REST_OF_BODY
}

/// Bytes of a metric and of the comma behind it.
fn encoded_size(item: &Metric) -> usize {
    serde_json::to_string(item).map_or(MAX_BODY, |text| text.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{rows, texts, value};

    #[test]
    fn values_are_written_as_text() {
        rows("values", |row| {
            let mut list = MetricList::default();
            list.add("m".into(), value(&row["value"]));
            match row["want"].as_str() {
                Some(want) => assert_eq!(list.items[0].value, want),
                None => assert_eq!((list.items.len(), list.unfit.len()), (0, 1)),
            }
        });
    }

    #[test]
    fn lists_of_metrics_are_flattened_and_cut() {
        rows("metrics", |row| {
            let mut list = MetricList::default();
            for (name, one) in row["metrics"].as_object().unwrap() {
                list.add(name.clone(), value(one));
            }
            let got = select(&list.items, &texts(&row["keep"]));
            let got: Vec<_> = got.into_iter().map(|m| vec![m.name, m.value]).collect();
            let want: Vec<_> = row["want"].as_array().unwrap().iter().map(texts).collect();
            assert_eq!(got, want);
        });
    }

    #[test]
    fn values_of_rust_become_text() {
        let map = |name: &str| HashMap::from([(name.to_owned(), 1), ("b".to_owned(), 2)]);
        let cases: Vec<(Value, &[(&str, &str)])> = vec![
            (0.1_f32.into(), &[("m", "0.1")]),
            (f32::MAX.into(), &[("m", "3.4028235e+38")]),
            (f32::NAN.into(), &[("m", "NaN")]),
            (u128::MAX.into(), &[("m", "340282366920938463463374607431768211455")]),
            (Some(3).into(), &[("m", "3")]),
            (None::<f64>.into(), &[]),
            (map("c").into(), &[("m/b", "2"), ("m/c", "1")]),
            (BTreeMap::from([("z", 1.5)]).into(), &[("m/z", "1.5")]),
            (vec![("z", true), ("a", false)].into(), &[("m/z", "1"), ("m/a", "0")]),
        ];
        for (value, want) in cases {
            let mut list = MetricList::default();
            list.add("m".into(), value);
            let got: Vec<_> = list.items.iter().map(|m| (m.name.as_str(), m.value.as_str())).collect();
            assert_eq!(got, want);
        }
    }
}
