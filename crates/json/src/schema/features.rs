//! What syntax, edition and feature options say about a field.

use super::descriptor::{File, each};
use crate::wire::Malformed;

/// The features that show on the wire or in JSON, resolved for one place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    /// Singular scalars without a value of their own are not written.
    pub(super) implicit_presence: bool,
    /// Numbers that an enum does not name are no values of it.
    pub(super) closed_enums: bool,
    pub(super) packed: bool,
    /// Messages stand between tags, as groups.
    pub(super) delimited: bool,
}

impl Features {
    pub(super) fn of(file: &File<'_>) -> Result<Self, Malformed> {
        let base = match file.syntax {
            "" | "proto2" => {
                Self { implicit_presence: false, closed_enums: true, packed: false, delimited: false }
            }
            "proto3" => Self { implicit_presence: true, closed_enums: false, packed: true, delimited: false },
            // Editions, which begin with 2023; the two before it say the same as the syntaxes.
            _ => match file.edition {
                PROTO2 => {
                    Self { implicit_presence: false, closed_enums: true, packed: false, delimited: false }
                }
                PROTO3 => {
                    Self { implicit_presence: true, closed_enums: false, packed: true, delimited: false }
                }
                _ => Self { implicit_presence: false, closed_enums: false, packed: true, delimited: false },
            },
        };
        base.with(file.features)
    }

    /// Overlaid with an encoded `google.protobuf.FeatureSet`.
    pub(super) fn with(mut self, set: &[u8]) -> Result<Self, Malformed> {
        each(set, |number, value| {
            match number {
                1 => self.implicit_presence = value.number()? == 2,
                2 => self.closed_enums = value.number()? == 2,
                3 => self.packed = value.number()? == 1,
                5 => self.delimited = value.number()? == 2,
                _ => {}
            }
            Ok(())
        })?;
        Ok(self)
    }
}

const PROTO2: u64 = 998;
const PROTO3: u64 = 999;
