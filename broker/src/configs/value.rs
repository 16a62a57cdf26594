//! Types of configs, their ranges, and what is said of a bad value.

/// What a config takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    Boolean,
    /// 32 bits.
    Int(i64, i64),
    /// 64 bits.
    Long(i64, i64),
    Double(f64, f64),
    /// One of these.
    Word(&'static [&'static str]),
    /// Some of these, separated by commas.
    List(&'static [&'static str]),
    /// This text alone, of a type of Kafka.
    Only(&'static str, i8),
    /// Text that is looked at elsewhere.
    Text,
}

/// Numbers of types in the protocol.
pub(crate) const BOOLEAN: i8 = 1;
pub(crate) const STRING: i8 = 2;
pub(crate) const INT: i8 = 3;
pub(crate) const LONG: i8 = 5;
pub(crate) const DOUBLE: i8 = 6;
pub(crate) const LIST: i8 = 7;

impl Type {
    /// Its number in the protocol.
    pub(crate) fn code(self) -> i8 {
        match self {
            Self::Boolean => BOOLEAN,
            Self::Int(..) => INT,
            Self::Long(..) => LONG,
            Self::Double(..) => DOUBLE,
            Self::Word(_) | Self::Text => STRING,
            Self::List(_) => LIST,
            Self::Only(_, code) => code,
        }
    }

    /// Whether it takes a value.
    pub(crate) fn takes(self, value: &str) -> bool {
        match self {
            Self::Boolean => matches!(value, "true" | "false"),
            Self::Int(least, most) | Self::Long(least, most) => value.parse().is_ok_and(|n: i64| (least..=most).contains(&n)),
            Self::Double(least, most) => value.parse().is_ok_and(|n: f64| (least..=most).contains(&n)),
            Self::Word(words) => words.contains(&value),
            Self::List(words) => value.is_empty() || value.split(',').all(|word| words.contains(&word)),
            Self::Only(only, _) => value == only,
            Self::Text => true,
        }
    }

    /// The range, for people.
    pub(crate) fn range(self) -> String {
        match self {
            Self::Boolean => "true or false".into(),
            Self::Int(least, i64::MAX) | Self::Long(least, i64::MAX) => format!("a whole number from {least} up"),
            Self::Int(least, most) | Self::Long(least, most) => format!("a whole number from {least} to {most}"),
            Self::Double(least, most) => format!("a number from {least} to {most}"),
            Self::Word(words) => words.join(" or "),
            Self::List(words) => format!("a list of {}", words.join(", ")),
            Self::Only("", _) => "the empty text".into(),
            Self::Only(only, _) => format!("{only} alone"),
            Self::Text => "text".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_within_its_range_alone() {
        let cases: [(Type, &[&str], &[&str]); 6] = [
            (Type::Boolean, &["true", "false"], &["TRUE", "1", ""]),
            (Type::Long(-1, i64::MAX), &["-1", "0", "9223372036854775807"], &["-2", "9223372036854775808", "1.5", "soon", ""]),
            (Type::Double(0.0, 1.0), &["0", "0.5", "1"], &["-0.1", "1.1", "NaN", "half"]),
            (Type::Word(&["a", "b"]), &["a"], &["A", "a,b", ""]),
            (Type::List(&["a", "b"]), &["a", "b,a", ""], &["a,", "c", "a, b"]),
            (Type::Only("x", STRING), &["x"], &["", "X"]),
        ];
        for (kind, good, bad) in cases {
            assert!(good.iter().all(|value| kind.takes(value)), "{kind:?}");
            assert!(!bad.iter().any(|value| kind.takes(value)), "{kind:?}");
        }
    }
}
