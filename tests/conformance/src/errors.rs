//! How a call ended, as the suite writes it and as the library does. Details travel as a `google.rpc.Status`
//! (wire-rules 61), whose code and message repeat those of the call.

use buffa::Message as _;
use buffa_types::google::protobuf::Any;
use peregrine::{Code, Status};

use crate::pb::google::rpc;
use crate::pb::{Code as ErrorCode, Error};

/// The status that `error` asks for, with `extra` behind its own details.
pub fn to_status(error: &Error, extra: Option<Any>) -> Status {
    let code = Code::from_i32(error.code.to_i32());
    let message = error.message.clone().unwrap_or_default();
    let status = Status::new(code, message.clone());
    let details: Vec<Any> = error.details.iter().cloned().chain(extra).collect();
    if details.is_empty() {
        return status;
    }
    let details = rpc::Status { code: code as i32, message, details, ..Default::default() };
    status.with_details_bytes(details.encode_to_bytes())
}

/// What `status` says. Details that cannot be decoded are left out: the suite then misses them.
pub fn from_status(status: &Status) -> Error {
    let details = rpc::Status::decode_from_slice(&status.details()).unwrap_or_default().details;
    Error {
        // The same numbers, so that a code without a name shows as what it is.
        code: (status.code() as i32).into(),
        message: Some(status.message().to_owned()),
        details,
        ..Default::default()
    }
}

/// How a call ended that its caller gave up.
pub fn given_up() -> Error {
    Error { code: ErrorCode::CODE_CANCELED.into(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::any;
    use crate::pb::Header;

    // wire-rules 61
    #[test]
    fn an_error_comes_back_from_its_status_with_all_details() {
        let detail = any(&Header { name: "a".into(), ..Default::default() });
        let error = Error {
            code: ErrorCode::CODE_NOT_FOUND.into(),
            message: Some("gone".into()),
            details: vec![detail.clone()],
            ..Default::default()
        };
        let status = to_status(&error, Some(detail.clone()));
        assert_eq!((status.code(), status.message()), (Code::NotFound, "gone"));
        let back = from_status(&status);
        assert_eq!(back, Error { details: vec![detail.clone(), detail], ..error });
    }

    #[test]
    fn an_error_without_details_has_none_on_the_wire() {
        let error = Error { code: ErrorCode::CODE_ABORTED.into(), ..Default::default() };
        assert!(to_status(&error, None).details().is_empty());
    }
}
