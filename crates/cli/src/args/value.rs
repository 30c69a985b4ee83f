//! Parsers of flag values with units.

use std::time::Duration;

/// A length of time: `250ms`, `2s`, `1.5m`, `1h`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit `{unit}`; use us, ms, s, m or h, as in `2s`")),
    };
    let number: f64 =
        number.parse().map_err(|_| "a number with a unit is expected, as in `2s` or `250ms`".to_owned())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "must be above zero and of a sensible size".to_owned())
}

/// A size in bytes: `65536`, `64KiB`, `4MiB`, `1GiB`.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = split_unit(text);
    let factor: usize = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(format!("unknown unit `{unit}`; use KiB, MiB or GiB, as in `16MiB`")),
    };
    let number: usize = number.parse().map_err(|_| "a whole number of bytes is expected".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "too large".to_owned())
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..end].trim_end(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        for bad in ["", "s", "2 fortnights", "-1s", "0", "1e300h", "nan"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4MiB"), Ok(4 << 20));
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("12"), Ok(12));
        for bad in ["", "4 parsecs", "-1", "99999999999GiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
