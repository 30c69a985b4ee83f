//! [`Compression`]: what a user says about the messages that this side sends.

use std::fmt;
use std::str::FromStr;

use crate::message::Encoding;

/// Whether and how messages are compressed that this side sends: of a server or a channel, of a service or a method,
/// or of one call.
///
/// ```
/// # use peregrine_core::compression::Compression;
/// # use peregrine_core::message::Encoding;
/// let default = Compression::off();
/// let usual = Compression::adaptive();
/// let eager = Compression::only(Encoding::Gzip).level(6).threshold(256);
/// # assert!(eager.encodings().eq([Encoding::Gzip]));
/// # assert_eq!("gzip level=6 threshold=256".parse(), Ok(eager));
/// ```
///
/// Messages under the [`threshold`](Self::threshold) go as they are, and so does one that would not get smaller by
/// [`min_saving`](Self::min_saving); the peer is told by a flag in front of each message. Which encoding it is, is
/// settled once a call: the first of ours that the peer accepts.
///
/// Do not compress messages that mix secrets with what an attacker can choose: their length tells about the secret
/// (CRIME). A call can be told so, with [`off`](Self::off).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Preferred ones first; the rest is identity.
    encodings: [Encoding; 4],
    threshold: u32,
    min_saving: u8,
    level: Option<i8>,
    backs_off: bool,
}

/// Default of [`Compression::threshold`], in bytes.
pub const DEFAULT_THRESHOLD: u32 = 1024;
/// Default of [`Compression::min_saving`], in percent.
const DEFAULT_MIN_SAVING: u8 = 5;

impl Compression {
    /// No compression. The default of servers, channels and calls.
    pub const fn off() -> Self {
        let none = [Encoding::Identity; 4];
        let (threshold, min_saving) = (DEFAULT_THRESHOLD, DEFAULT_MIN_SAVING);
        Self { encodings: none, threshold, min_saving, level: None, backs_off: true }
    }

    /// Whatever the peer accepts of what is compiled in: zstd, else gzip, else deflate, else snappy.
    ///
    /// A client compresses once the server has said what it accepts, in the head of an earlier response: the first
    /// calls of a channel are not compressed, and none are where servers never say (grpc-go). Name an encoding with
    /// [`only`](Self::only) to use it from the start.
    // wire-rules P3
    pub const fn adaptive() -> Self {
        let mut encodings = [Encoding::Identity; 4];
        let (mut index, mut count) = (0, 0);
        while index < Encoding::COMPRESSED.len() {
            if Encoding::COMPRESSED[index].is_supported() {
                encodings[count] = Encoding::COMPRESSED[index];
                count += 1;
            }
            index += 1;
        }
        Self { encodings, ..Self::off() }
    }

    /// This encoding and no other. A server uses it where the client accepts it, a client uses it without asking.
    pub const fn only(encoding: Encoding) -> Self {
        let rest = Encoding::Identity;
        Self { encodings: [encoding, rest, rest, rest], ..Self::off() }
    }

    /// These encodings and no others, preferred ones first. Repetitions and identity are left out.
    // wire-rules P1
    pub fn prefer(encodings: impl IntoIterator<Item = Encoding>) -> Self {
        let mut setting = Self::off();
        let mut count = 0;
        for encoding in encodings {
            if !setting.encodings.contains(&encoding)
                && let Some(place) = setting.encodings.get_mut(count)
            {
                *place = encoding;
                count += 1;
            }
        }
        setting
    }

    /// Messages of fewer bytes are sent as they are, counted before compression. Default 1,024. With 0 every message
    /// that is not empty is tried; with [`u32::MAX`] none is, which is [`off`](Self::off).
    // wire-rules T1, T3, T2
    #[must_use]
    pub const fn threshold(self, bytes: u32) -> Self {
        Self { threshold: bytes, ..self }
    }

    /// How much smaller a message has to get to be sent compressed, in percent; a message that does not is sent as it
    /// is. Default 5; at most 99. With 0 one byte is enough.
    // wire-rules T5
    #[must_use]
    pub const fn min_saving(self, percent: u8) -> Self {
        Self { min_saving: percent, ..self }
    }

    /// How hard to try: 1 to 9 for gzip and deflate, 1 to 22 for zstd; snappy has none. Default 1, the fastest.
    #[must_use]
    pub const fn level(self, level: i8) -> Self {
        Self { level: Some(level), ..self }
    }

    /// Whether messages go untried for a while after some of the same method did not shrink: after four in a row the
    /// next one is not tried, after five two, then 4, 8, 16, at most 64. Default true.
    // wire-rules T6
    #[must_use]
    pub const fn back_off(self, backs_off: bool) -> Self {
        Self { backs_off, ..self }
    }

    /// Tries every message that is not empty and takes what is smaller by a byte: no threshold, no minimum saving, no
    /// backing off.
    #[must_use]
    pub const fn always(self) -> Self {
        self.threshold(0).min_saving(0).back_off(false)
    }

    /// Its encodings, preferred ones first; none if it is off.
    pub fn encodings(&self) -> impl Iterator<Item = Encoding> + Clone + use<> {
        let is_off = self.threshold == u32::MAX;
        self.encodings.into_iter().filter(move |&encoding| encoding != Encoding::Identity && !is_off)
    }

    /// Whether nothing is compressed.
    pub const fn is_off(&self) -> bool {
        matches!(self.encodings[0], Encoding::Identity) || self.threshold == u32::MAX
    }

    /// The encoding that [`only`](Self::only) names: used without knowing whether the peer accepts it.
    pub fn told(&self) -> Option<Encoding> {
        let mut encodings = self.encodings();
        let first = encodings.next()?;
        encodings.next().is_none().then_some(first)
    }

    /// Looks for what cannot be meant. Servers and channels do when they are built.
    ///
    /// # Errors
    /// An encoding that is not compiled in, a level that it does not have, or a saving of 100 % or more.
    // wire-rules T4
    pub fn check(&self) -> Result<(), InvalidCompression> {
        for encoding in self.encodings() {
            if !encoding.is_supported() {
                let message =
                    format!("{encoding} is not compiled in; turn the cargo feature `{encoding}` on");
                return Err(InvalidCompression { message });
            }
            let max = max_level(encoding);
            if let Some(level) = self.level
                && max > 0
                && !(1..=max).contains(&level)
            {
                let message = format!("{encoding} has the levels 1 to {max}, not {level}");
                return Err(InvalidCompression { message });
            }
        }
        if let Some(level) = self.level
            && !self.is_off()
            && self.encodings().all(|encoding| max_level(encoding) == 0)
        {
            return Err(InvalidCompression {
                message: format!("level {level} is for none of these encodings"),
            });
        }
        if self.min_saving > 99 {
            let message = format!("no message can shrink by {} %; say 0 to 99", self.min_saving);
            return Err(InvalidCompression { message });
        }
        Ok(())
    }

    pub(super) fn level_of(&self, encoding: Encoding) -> i8 {
        self.level.unwrap_or(1).clamp(1, max_level(encoding).max(1))
    }

    /// The level at which an encoding is used; `None` if it has none.
    pub(crate) fn used_level(&self, encoding: Encoding) -> Option<i8> {
        (max_level(encoding) > 0).then(|| self.level_of(encoding))
    }

    /// Threshold in bytes, least saving in percent, whether it backs off.
    pub(crate) fn parts(&self) -> (u32, u8, bool) {
        (self.threshold, self.min_saving, self.backs_off)
    }
}

/// The highest level of an encoding; 0 if it has none.
fn max_level(encoding: Encoding) -> i8 {
    match encoding {
        Encoding::Gzip | Encoding::Deflate => 9,
        Encoding::Zstd => 22,
        Encoding::Identity | Encoding::Snappy => 0,
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self::off()
    }
}

impl From<Encoding> for Compression {
    fn from(encoding: Encoding) -> Self {
        Self::only(encoding)
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_off() {
            return f.write_str("off");
        }
        for (index, encoding) in self.encodings().enumerate() {
            write!(f, "{}{encoding}", if index > 0 { "," } else { "" })?;
        }
        if let Some(level) = self.level {
            write!(f, " level={level}")?;
        }
        write!(f, " threshold={} min-saving={}", self.threshold, self.min_saving)?;
        if self.backs_off { Ok(()) } else { f.write_str(" back-off=false") }
    }
}

/// From a configuration's text: `off`, `adaptive`, or encodings separated by commas, then settings in any order:
/// `zstd,gzip level=3 threshold=2048 min-saving=10 back-off=false`. A threshold may be `off`.
impl FromStr for Compression {
    type Err = InvalidCompression;

    fn from_str(text: &str) -> Result<Self, InvalidCompression> {
        let invalid = |what: &str| InvalidCompression { message: format!("{what} in {text:?}") };
        let mut words = text.split_ascii_whitespace();
        let mut setting = match words.next().ok_or_else(|| invalid("nothing is said"))? {
            "off" => Self::off(),
            "adaptive" => Self::adaptive(),
            list => {
                let read = |name: &str| {
                    Encoding::from_name(name.as_bytes())
                        .ok_or_else(|| invalid(&format!("{name} is no encoding")))
                };
                Self::prefer(list.split(',').map(read).collect::<Result<Vec<_>, _>>()?)
            }
        };
        for word in words {
            let (name, value) =
                word.split_once('=').ok_or_else(|| invalid(&format!("{word} has no value")))?;
            let wrong = || invalid(&format!("{value} is not possible for {name}"));
            setting = match name {
                "threshold" if value == "off" => setting.threshold(u32::MAX),
                "threshold" => setting.threshold(value.parse().map_err(|_| wrong())?),
                "min-saving" => setting.min_saving(value.parse().map_err(|_| wrong())?),
                "level" => setting.level(value.parse().map_err(|_| wrong())?),
                "back-off" => setting.back_off(value.parse().map_err(|_| wrong())?),
                _ => return Err(invalid(&format!("{name} is no setting"))),
            };
        }
        setting.check()?;
        Ok(setting)
    }
}

/// A [`Compression`] that cannot be meant. Says what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCompression {
    message: String,
}

impl fmt::Display for InvalidCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compression: {}", self.message)
    }
}

impl std::error::Error for InvalidCompression {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_given_is_the_order_preferred() {
        // wire-rules P1
        let setting =
            Compression::prefer([Encoding::Gzip, Encoding::Identity, Encoding::Zstd, Encoding::Gzip]);
        assert!(setting.encodings().eq([Encoding::Gzip, Encoding::Zstd]));
        assert_eq!(setting.told(), None);
        assert_eq!(Compression::only(Encoding::Gzip).told(), Some(Encoding::Gzip));
        let all = Encoding::COMPRESSED.into_iter().filter(|encoding| encoding.is_supported());
        assert!(Compression::adaptive().encodings().eq(all));
    }

    #[test]
    fn off_has_many_names() {
        // wire-rules T3
        let gzip = Compression::only(Encoding::Gzip);
        for off in [
            Compression::off(),
            Compression::default(),
            Compression::only(Encoding::Identity),
            Compression::prefer([]),
            gzip.threshold(u32::MAX),
        ] {
            assert!(off.is_off() && off.encodings().next().is_none() && off.check().is_ok(), "{off:?}");
        }
        assert!(!gzip.is_off());
    }

    #[test]
    fn text_that_cannot_be_meant_is_an_error() {
        // wire-rules T4
        for text in [
            "",
            "br",
            "gzip,br",
            "off threshold",
            "off threshold=-1",
            "off threshold=NaN",
            "off threshold=1e3",
            "off threshold=4294967296",
            "off min-saving=-5",
            "off min-saving=100",
            "off min-saving=256",
            "off level=200",
            "off back-off=2",
            "off speed=1",
        ] {
            let error = text.parse::<Compression>().unwrap_err().to_string();
            assert!(error.starts_with("compression: "), "{text:?}: {error}");
        }
    }

    #[test]
    fn what_is_shown_is_read() {
        for text in ["off", "adaptive", "off threshold=off"] {
            let setting: Compression = text.parse().unwrap();
            assert_eq!(
                setting.to_string().parse::<Compression>().map(|read| read.is_off()),
                Ok(setting.is_off())
            );
        }
        for encoding in Encoding::COMPRESSED.into_iter().filter(|encoding| encoding.is_supported()) {
            let mut setting = Compression::only(encoding).threshold(0).min_saving(7).back_off(false);
            if max_level(encoding) > 0 {
                setting = setting.level(1);
            }
            assert_eq!(setting.to_string().parse(), Ok(setting));
        }
    }

    #[cfg(all(feature = "gzip", feature = "zstd"))]
    #[test]
    fn a_level_has_to_be_one_of_each_encoding() {
        // wire-rules T4
        assert!(Compression::only(Encoding::Zstd).level(19).check().is_ok());
        for (encoding, level) in [(Encoding::Gzip, 10), (Encoding::Gzip, 0), (Encoding::Zstd, 23)] {
            let error = Compression::only(encoding).level(level).check().unwrap_err().to_string();
            assert!(error.contains(encoding.name()) && error.contains(&level.to_string()), "{error}");
        }
        assert!(Compression::adaptive().level(12).check().is_err(), "gzip is among them");
    }

    #[cfg(all(feature = "gzip", feature = "snappy"))]
    #[test]
    fn a_level_is_for_an_encoding_that_has_levels() {
        // wire-rules T4
        let error = "snappy level=5".parse::<Compression>().unwrap_err().to_string();
        assert!(error.contains("level 5"), "{error}");
        assert!(Compression::prefer([Encoding::Snappy, Encoding::Gzip]).level(5).check().is_ok());
        assert!(Compression::off().level(5).check().is_ok());
    }

    #[cfg(not(feature = "snappy"))]
    #[test]
    fn an_encoding_that_is_not_compiled_in_names_its_feature() {
        let error = Compression::only(Encoding::Snappy).check().unwrap_err().to_string();
        assert!(error.contains("cargo feature `snappy`"), "{error}");
    }
}
