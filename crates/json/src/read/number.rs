//! Numbers of JSON as protobuf's: exact, or an error.

use super::lexer::is_number;

/// An integer from JSON's number text: `12`, but also `12.0` and `1.2e1`, which are the same number. `None` if it is
/// none, or beyond what any integer of protobuf can hold.
pub(super) fn integer(text: &str) -> Option<i128> {
    if !is_number(text) {
        return None;
    }
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = || whole.bytes().chain(fraction.bytes()).map(|digit| i128::from(digit - b'0'));
    if digits().all(|digit| digit == 0) {
        return Some(0);
    }
    // The number is its digits times ten to the power of `shift`.
    let mut shift = exponent.saturating_sub(fraction.len() as i64);
    let mut value: i128 = 0;
    let mut zeros: i64 = 0;
    for digit in digits() {
        // Zeros count once something follows them, so that those at the end may be shifted away.
        if digit == 0 {
            zeros += 1;
            continue;
        }
        value = scaled(value, zeros + 1)?.checked_add(digit)?;
        zeros = 0;
    }
    shift = shift.saturating_add(zeros);
    if shift < 0 {
        return None;
    }
    let value = scaled(value, shift)?;
    Some(if negative { -value } else { value })
}

/// `value` times ten to the power of `power`; `None` where that is far beyond 64 bits.
fn scaled(value: i128, power: i64) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    let scaled = value.checked_mul(10_i128.checked_pow(u32::try_from(power).ok()?)?)?;
    (scaled <= i128::from(u64::MAX)).then_some(scaled)
}

/// An exponent that passed the grammar; one beyond 64 bits is as good as the largest.
fn exponent_of(text: &str) -> i64 {
    let largest = if text.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    text.strip_prefix('+').unwrap_or(text).parse().unwrap_or(largest).clamp(i64::MIN / 2, i64::MAX / 2)
}

/// A `double` from JSON's number text; `None` if it is none, or too large.
pub(super) fn double(text: &str) -> Option<f64> {
    let value: f64 = if is_number(text) { text.parse().ok()? } else { return None };
    value.is_finite().then_some(value)
}

/// A `float` from JSON's number text; `None` if it is none, or too large.
pub(super) fn float(text: &str) -> Option<f32> {
    let value: f32 = if is_number(text) { text.parse().ok()? } else { return None };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_however_they_are_written() {
        let numbers = [
            ("0", 0),
            ("-0", 0),
            ("0e99999999999999999999", 0),
            ("0.000", 0),
            ("12", 12),
            ("-12.00", -12),
            ("1.2e1", 12),
            ("1200e-2", 12),
            ("0.012e+3", 12),
            ("1000000000000000000000000000000e-20", 10_000_000_000),
            ("18446744073709551615", u64::MAX.into()),
            ("-9223372036854775808", i64::MIN.into()),
            ("9007199254740993", 9_007_199_254_740_993),
            ("1e19", 10_000_000_000_000_000_000),
        ];
        for (text, value) in numbers {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_integer_or_too_large_is_none() {
        let texts = [
            "",
            "1.5",
            "0.1",
            "1e-1",
            "12e-2",
            "1e20",
            "1e999999999999999999999",
            "1e-999999999999999999999",
            "99999999999999999999999999999999999999999999",
            " 1",
            "1 ",
            "+1",
            "0x1",
            "1.",
            "NaN",
            "01",
            "-",
        ];
        for text in texts {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn floats_round_but_never_overflow() {
        assert_eq!((double("1.5e300"), double("1e309"), double("Infinity")), (Some(1.5e300), None, None));
        assert_eq!((float("3.4028235e38"), float("3.5e38"), float("0x1")), (Some(f32::MAX), None, None));
        assert_eq!(float("1e-60"), Some(0.0));
        assert_eq!(double("-0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        // Rounded once, not by way of a double.
        assert_eq!(float("1.00000017881393432617187499"), Some(1.000_000_1));
    }
}
