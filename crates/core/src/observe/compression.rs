//! What a compression setting has come to, as observers hear of it.

use super::Side;
use crate::compression::Compression;
use crate::message::Encoding;

/// How the messages that this side sends are compressed, for all of a server or a channel, or for one service or
/// method. Settings of single calls and messages are not told.
// wire-rules T8
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompressionSetting<'a> {
    /// A server's replies, or a channel's requests.
    pub side: Side,
    /// Which of them.
    pub scope: SettingScope<'a>,
    /// What may be used, preferred first; none if compression is off.
    // wire-rules P1
    pub algorithms: Vec<Algorithm>,
    /// Messages of fewer bytes are not compressed.
    pub threshold: u32,
    /// Percent that a message has to get smaller by.
    pub min_saving: u8,
    /// Whether messages go untried for a while after some did not shrink.
    pub backs_off: bool,
}

/// An encoding that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Algorithm {
    /// Its name on the wire.
    pub encoding: Encoding,
    /// How hard it tries: 1 to 9, for zstd to 22. `None` where there is no choice.
    pub level: Option<i8>,
}

/// What a setting holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SettingScope<'a> {
    /// Everything that has no setting of its own.
    Default,
    /// The methods of this service, `package.Service`, that have none of their own.
    Service(&'a str),
    /// This method, `package.Service/Method`.
    Method(&'a str),
}

impl<'a> CompressionSetting<'a> {
    /// `setting` as it is used.
    pub fn new(side: Side, scope: SettingScope<'a>, setting: &Compression) -> Self {
        let (threshold, min_saving, backs_off) = setting.parts();
        let algorithms = setting
            .encodings()
            .map(|encoding| Algorithm { encoding, level: setting.used_level(encoding) })
            .collect();
        Self { side, scope, algorithms, threshold, min_saving, backs_off }
    }

    /// Whether nothing is compressed.
    pub fn is_off(&self) -> bool {
        self.algorithms.is_empty()
    }
}

impl<'a> SettingScope<'a> {
    /// The scope that this name stands for in `configure`: a service's, or a method's with its slash.
    pub fn of_name(name: &'a str) -> Self {
        let bare = name.strip_prefix('/').unwrap_or(name);
        match bare.rsplit_once('/') {
            None => Self::Service(bare),
            Some((service, "")) => Self::Service(service),
            Some(_) => Self::Method(bare),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules T8
    #[test]
    fn a_setting_is_told_as_it_is_used() {
        let told = |setting| CompressionSetting::new(Side::Server, SettingScope::Default, &setting);
        let off = told(Compression::off());
        assert!(off.is_off() && off.algorithms.is_empty(), "{off:?}");
        assert!(told(Compression::only(Encoding::Gzip).threshold(u32::MAX)).is_off());
        let both = told(Compression::prefer([Encoding::Snappy, Encoding::Gzip]).threshold(0).min_saving(7));
        let levels: Vec<_> = both.algorithms.iter().map(|one| (one.encoding, one.level)).collect();
        assert_eq!(levels, [(Encoding::Snappy, None), (Encoding::Gzip, Some(1))], "the default level too");
        assert_eq!((both.threshold, both.min_saving, both.backs_off), (0, 7, true));
        let hard = told(Compression::only(Encoding::Zstd).level(19).always());
        assert_eq!(hard.algorithms, [Algorithm { encoding: Encoding::Zstd, level: Some(19) }]);
        assert!(!hard.backs_off);
    }

    #[test]
    fn a_name_is_a_services_or_a_methods() {
        for (name, scope) in [
            ("a.S", SettingScope::Service("a.S")),
            ("/a.S/", SettingScope::Service("a.S")),
            ("a.S/M", SettingScope::Method("a.S/M")),
            ("/a.S/M", SettingScope::Method("a.S/M")),
        ] {
            assert_eq!(SettingScope::of_name(name), scope, "{name}");
        }
    }
}
