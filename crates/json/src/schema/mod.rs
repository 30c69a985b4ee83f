//! The schema of one descriptor set, linked: what reading and printing JSON look at.
//!
//! `descriptor` reads the encoded set, `features` settles what syntax and edition say, `link` makes a [`Schema`] of
//! both. A schema never changes; where an `Any` names a type of another one is [`Types`](crate::types::Types)' concern.

mod descriptor;
mod features;
mod link;

use std::collections::HashMap;

pub(crate) use self::link::LinkError;

/// Every type of one descriptor set.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    messages: Vec<Message>,
    enums: Vec<Enum>,
    by_name: HashMap<Box<str>, MessageId>,
    /// Types of requests and responses, by `package.Service/Method`.
    methods: HashMap<Box<str>, (MessageId, MessageId)>,
}

/// A message's place in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageId(u32);

/// An enum's place in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnumId(u32);

/// A message type.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) full_name: Box<str>,
    /// By number, extensions among them.
    pub(crate) fields: Vec<Field>,
    /// Places in `fields` by every name that JSON may use.
    names: HashMap<Box<str>, usize>,
    /// What it is if it has a JSON form of its own.
    pub(crate) special: Option<Special>,
}

/// A field, or an extension.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// As the proto has it; of an extension the full name in brackets.
    pub(crate) name: Box<str>,
    pub(crate) json_name: Box<str>,
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    /// Which of the message's oneofs it belongs to, those of `optional` aside.
    pub(crate) oneof: Option<usize>,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One; `implicit` if its default is the same as its absence.
    Singular {
        implicit: bool,
    },
    Repeated {
        packed: bool,
    },
    /// The field's kind is the message of an entry.
    Map,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(EnumId),
    Message(MessageId),
    Group(MessageId),
}

/// Types of `google.protobuf` whose JSON is not an object of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Any,
    Timestamp,
    Duration,
    FieldMask,
    Struct,
    Value,
    ListValue,
    /// `BoolValue` and its like: the JSON of their one field.
    Wrapper,
}

/// An enum type.
#[derive(Debug)]
pub(crate) struct Enum {
    pub(crate) full_name: Box<str>,
    numbers: HashMap<Box<str>, i32>,
    /// The first name of each number, by number.
    names: Vec<(i32, Box<str>)>,
    pub(crate) is_closed: bool,
    /// `google.protobuf.NullValue`, whose one value is `null`.
    pub(crate) is_null: bool,
    /// What stands for an absent value: the first one.
    pub(crate) default: i32,
}

impl Schema {
    pub(crate) fn message(&self, id: MessageId) -> &Message {
        &self.messages[id.0 as usize]
    }

    pub(crate) fn enumeration(&self, id: EnumId) -> &Enum {
        &self.enums[id.0 as usize]
    }

    /// The message with a full name, `package.Message`.
    pub(crate) fn find(&self, full_name: &str) -> Option<MessageId> {
        self.by_name.get(full_name).copied()
    }

    /// The types of requests and responses of `package.Service/Method`.
    pub(crate) fn method(&self, path: &str) -> Option<(MessageId, MessageId)> {
        self.methods.get(path).copied()
    }
}

impl Message {
    /// The field with a number, and its place.
    pub(crate) fn by_number(&self, number: u32) -> Option<(usize, &Field)> {
        // Most messages number their fields from 1 without gaps.
        let guess = number as usize - 1;
        if let Some(field) = self.fields.get(guess)
            && field.number == number
        {
            return Some((guess, field));
        }
        let place = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        Some((place, &self.fields[place]))
    }

    /// The field that JSON names so, and its place.
    pub(crate) fn by_name(&self, name: &str) -> Option<(usize, &Field)> {
        let place = *self.names.get(name)?;
        Some((place, &self.fields[place]))
    }
}

impl Enum {
    pub(crate) fn number(&self, name: &str) -> Option<i32> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn name(&self, number: i32) -> Option<&str> {
        let place = self.names.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&self.names[place].1)
    }
}

impl Kind {
    /// Whether values may stand behind one another in one field.
    pub(crate) fn is_packable(self) -> bool {
        !matches!(self, Self::String | Self::Bytes | Self::Message(_) | Self::Group(_))
    }

    /// The message it is, if it is one.
    pub(crate) fn message(self) -> Option<MessageId> {
        match self {
            Self::Message(id) | Self::Group(id) => Some(id),
            _ => None,
        }
    }
}
