//! Timestamps and durations as text.

use std::fmt::Write;

/// Seconds since 1970 of the first and of the last second that a timestamp may name: the years 1 to 9999.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;
/// Seconds of the longest duration, either way: some 10,000 years.
const LONGEST: i64 = 315_576_000_000;
const NANOS: i32 = 1_000_000_000;

/// Seconds since 1970 and nanoseconds of `2030-01-02T03:04:05.6Z`, or with an offset as in `+02:00`.
pub(crate) fn parse_timestamp(text: &str) -> Option<(i64, i32)> {
    let bytes = text.as_bytes();
    let date = bytes.get(..19)?;
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, separator)| date[at] != separator) {
        return None;
    }
    let number = |from: usize, to: usize| digits(&date[from..to]);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let in_range = (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !in_range {
        return None;
    }
    let (nanos, rest) = fraction(&bytes[19..])?;
    let offset = match rest {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    (FIRST_SECOND..=LAST_SECOND).contains(&seconds).then_some((seconds, nanos))
}

/// The text of a timestamp, in UTC; `None` if it is out of range.
pub(crate) fn print_timestamp(seconds: i64, nanos: i32) -> Option<String> {
    if !(FIRST_SECOND..=LAST_SECOND).contains(&seconds) || !(0..NANOS).contains(&nanos) {
        return None;
    }
    let (year, month, day) = date_of(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    print_fraction(&mut text, nanos);
    text.push('Z');
    Some(text)
}

/// Seconds and nanoseconds, of the same sign, of `-1.5s`.
pub(crate) fn parse_duration(text: &str) -> Option<(i64, i32)> {
    let text = text.strip_suffix('s')?;
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    // Twelve digits are enough for the longest duration.
    let seconds = if (1..=12).contains(&whole) { digits(&text.as_bytes()[..whole])? } else { return None };
    let (nanos, rest) = fraction(&text.as_bytes()[whole..])?;
    let in_range = rest.is_empty() && (seconds < LONGEST || (seconds == LONGEST && nanos == 0));
    in_range.then_some((i64::from(sign) * seconds, sign * nanos))
}

/// The text of a duration; `None` if it is out of range, or its parts differ in sign.
pub(crate) fn print_duration(seconds: i64, nanos: i32) -> Option<String> {
    let in_range = (-LONGEST..=LONGEST).contains(&seconds) && (-NANOS + 1..NANOS).contains(&nanos);
    if !in_range || (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0) {
        return None;
    }
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    let mut text = format!("{sign}{}", seconds.unsigned_abs());
    print_fraction(&mut text, nanos.abs());
    text.push('s');
    Some(text)
}

/// Nanoseconds of `.5`, and what follows; nothing at all is 0.
fn fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    let Some(text) = text.strip_prefix(b".") else { return Some((0, text)) };
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&count) {
        return None;
    }
    let nanos = digits(&text[..count])? as i32 * 10_i32.pow(9 - count as u32);
    Some((nanos, &text[count..]))
}

/// In three, six or nine digits, as few as say it all; nothing for 0.
fn print_fraction(text: &mut String, nanos: i32) {
    // Writing to a string does not fail.
    let _ = match nanos {
        0 => Ok(()),
        _ if nanos % 1_000_000 == 0 => write!(text, ".{:03}", nanos / 1_000_000),
        _ if nanos % 1_000 == 0 => write!(text, ".{:06}", nanos / 1_000),
        _ => write!(text, ".{nanos:09}"),
    };
}

/// A number of at most 18 digits.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter()
        .try_fold(0, |number: i64, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last one, and in eras of 400 years, which all have the
/// same number of days.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - MARCH_1_OF_YEAR_0
}

/// The other way.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + MARCH_1_OF_YEAR_0;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

const DAYS_PER_ERA: i64 = 146_097;
/// Days from there to 1970-01-01.
const MARCH_1_OF_YEAR_0: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_go_both_ways() {
        let known = [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("0001-01-01T00:00:00Z", FIRST_SECOND, 0),
            ("9999-12-31T23:59:59.999999999Z", LAST_SECOND, 999_999_999),
            ("2000-02-29T12:34:56.789Z", 951_827_696, 789_000_000),
            ("1969-12-31T23:59:59.500Z", -1, 500_000_000),
            ("2024-12-31T23:59:59.000001Z", 1_735_689_599, 1_000),
        ];
        for (text, seconds, nanos) in known {
            assert_eq!(parse_timestamp(text), Some((seconds, nanos)), "{text}");
            assert_eq!(print_timestamp(seconds, nanos).as_deref(), Some(text));
        }
        assert_eq!(parse_timestamp("1970-01-01T02:00:00.1+02:00"), Some((0, 100_000_000)));
        assert_eq!(parse_timestamp("1969-12-31T22:30:00-01:30"), Some((0, 0)));
    }

    /// The naive twin: counts days one by one.
    #[test]
    fn every_day_of_eight_centuries_is_the_one_behind_the_last() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        for days in days_since_epoch(1600, 1, 1)..days_since_epoch(2400, 1, 1) {
            assert_eq!((days_since_epoch(year, month, day), date_of(days)), (days, (year, month, day)));
            day += 1;
            if day > days_of_month(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2400, 1, 1));
    }

    #[test]
    fn what_is_no_timestamp_is_refused() {
        let texts = [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01t00:00:00Z",
            "1970-01-01T00:00:00z",
            "1970-01-01 00:00:00Z",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "1970-01-00T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T00:00:60Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.1234567890Z",
            "1970-01-01T00:00:00+24:00",
            "1970-01-01T00:00:00+0000",
            "1970-01-01T00:00:00Z ",
            "+970-01-01T00:00:00Z",
            "0000-12-31T23:59:59Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "10000-01-01T00:00:00Z",
            "1970-01-01T00:00:0\u{e4}",
        ];
        for text in texts {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
        for (seconds, nanos) in [(FIRST_SECOND - 1, 0), (LAST_SECOND + 1, 0), (0, -1), (0, NANOS)] {
            assert_eq!(print_timestamp(seconds, nanos), None);
        }
    }

    #[test]
    fn durations_go_both_ways() {
        let known = [
            ("0s", 0, 0),
            ("1.500s", 1, 500_000_000),
            ("-0.000001s", 0, -1_000),
            ("-3.000000001s", -3, -1),
            ("315576000000s", LONGEST, 0),
            ("-315576000000s", -LONGEST, 0),
        ];
        for (text, seconds, nanos) in known {
            assert_eq!(parse_duration(text), Some((seconds, nanos)), "{text}");
            assert_eq!(print_duration(seconds, nanos).as_deref(), Some(text));
        }
        assert_eq!(parse_duration("1.2s"), Some((1, 200_000_000)));
        let texts = [
            "",
            "s",
            "1",
            "1 s",
            "1.s",
            ".5s",
            "1.1234567890s",
            "315576000001s",
            "315576000000.1s",
            "--1s",
            "+1s",
            "1e3s",
            "9999999999999999999999s",
            "1ss",
            "- 1s",
        ];
        for text in texts {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        for (seconds, nanos) in [(1, -1), (-1, 1), (LONGEST + 1, 0), (0, NANOS), (0, i32::MIN)] {
            assert_eq!(print_duration(seconds, nanos), None);
        }
    }
}
