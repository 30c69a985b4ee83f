//! Numbers of JSON text to the integer and float types of protobuf.
//!
//! ProtoJSON lets every number be written as a string too, since other languages' JSON cannot hold 64 bits.

/// Why a text is not a number of the wanted type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Misfit {
    NotANumber,
    Fraction,
    OutOfRange,
}

/// An integer between `low` and `high`. `1e3` and `2.0` are integers as well.
pub(super) fn integer(text: &str, low: i128, high: i128) -> Result<i128, Misfit> {
    let number = if let Ok(number) = text.parse::<i128>() {
        // `+1` is Rust's but not JSON's.
        if text.starts_with('+') {
            return Err(Misfit::NotANumber);
        }
        number
    } else {
        let number = float(text)?;
        if !number.is_finite() {
            return Err(Misfit::NotANumber);
        }
        if number.fract() != 0.0 {
            return Err(Misfit::Fraction);
        }
        number as i128
    };
    if (low..=high).contains(&number) { Ok(number) } else { Err(Misfit::OutOfRange) }
}

/// A float; the three special values have names.
pub(super) fn float(text: &str) -> Result<f64, Misfit> {
    match text {
        "NaN" => Ok(f64::NAN),
        "Infinity" => Ok(f64::INFINITY),
        "-Infinity" => Ok(f64::NEG_INFINITY),
        _ if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            let number: f64 = text.parse().map_err(|_| Misfit::NotANumber)?;
            if number.is_finite() { Ok(number) } else { Err(Misfit::OutOfRange) }
        }
        _ => Err(Misfit::NotANumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_may_be_written_like_floats() {
        let int32 = |text| integer(text, i32::MIN.into(), i32::MAX.into());
        assert_eq!(int32("-7"), Ok(-7));
        assert_eq!(int32("1e3"), Ok(1000));
        assert_eq!(int32("2.0"), Ok(2));
        assert_eq!(int32("2.5"), Err(Misfit::Fraction));
        assert_eq!(int32("2147483648"), Err(Misfit::OutOfRange));
        for bad in ["", "x", "+1", "NaN", "0x10", "1 "] {
            assert_eq!(int32(bad), Err(Misfit::NotANumber), "{bad}");
        }
        let uint64 = |text| integer(text, 0, u64::MAX.into());
        assert_eq!(uint64("18446744073709551615"), Ok(u64::MAX.into()));
        assert_eq!(uint64("18446744073709551616"), Err(Misfit::OutOfRange));
        assert_eq!(uint64("-1"), Err(Misfit::OutOfRange));
    }

    #[test]
    fn floats_have_named_values_and_no_overflow() {
        assert!(float("NaN").unwrap().is_nan());
        assert_eq!(float("-Infinity"), Ok(f64::NEG_INFINITY));
        assert_eq!(float("1e999"), Err(Misfit::OutOfRange));
        assert_eq!(float("inf"), Err(Misfit::NotANumber));
    }
}
