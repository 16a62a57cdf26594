//! Numbers as people read them.

/// Bytes, in the largest unit that leaves at least 1.
pub(super) fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = ((u64::BITS - bytes.leading_zeros()).saturating_sub(1) / 10).min(4);
    let value = bytes as f64 / (1_u64 << (10 * power)) as f64;
    let digits = if power == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[power as usize])
}

/// Microseconds as milliseconds.
pub(super) fn ms(us: u64) -> String {
    let ms = us as f64 / 1e3;
    let digits = if ms >= 100.0 { 0 } else { 1 };
    format!("{ms:.digits$} ms")
}

/// Nano-dollars as dollars.
pub(super) fn usd(nano: u64) -> String {
    format!("{:.2} USD", nano as f64 / 1e9)
}

/// A share.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count, its thousands apart.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([bytes(0), bytes(1_023), bytes(1_536), bytes(200 << 20)], ["0 B", "1023 B", "1.5 KiB", "200 MiB"]);
        assert_eq!([ms(1_250), ms(123_456)], ["1.2 ms", "123 ms"]);
        assert_eq!([count(0), count(999), count(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!((usd(1_500_000_000).as_str(), percent(0.4567).as_str()), ("1.50 USD", "45.7 %"));
    }
}
