//! Names as users type them, resolved against a schema.

use prost_reflect::{
    EnumDescriptor, EnumValueDescriptor, ExtensionDescriptor, FieldDescriptor, MessageDescriptor,
    MethodDescriptor, OneofDescriptor, ServiceDescriptor,
};

use super::Schema;
use crate::suggest;

/// A definition that `describe` can show.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Service(ServiceDescriptor),
    Method(MethodDescriptor),
    Message(MessageDescriptor),
    Enum(EnumDescriptor),
    Field(FieldDescriptor),
    EnumValue(EnumValueDescriptor),
    Oneof(OneofDescriptor),
    Extension(ExtensionDescriptor),
}

/// `package.Service/Method`, `/package.Service/Method` or `package.Service.Method`, in its two parts.
pub(crate) fn split_method(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/').unwrap_or(text);
    let (service, method) = text.split_once('/').or_else(|| text.rsplit_once('.'))?;
    (!service.is_empty() && !method.is_empty() && !method.contains(['/', '.'])).then_some((service, method))
}

/// The method of a service.
pub(crate) fn method(service: &ServiceDescriptor, name: &str) -> Option<MethodDescriptor> {
    service.methods().find(|method| method.name() == name)
}

/// Finds a definition by its full name; a leading dot and `Service/Method` are fine.
pub(crate) fn symbol(schema: &Schema, name: &str) -> Option<Symbol> {
    let name = name.trim_start_matches(['.', '/']);
    let name = name.replacen('/', ".", 1);
    let pool = &schema.pool;
    if let Some(service) = pool.get_service_by_name(&name) {
        return Some(Symbol::Service(service));
    }
    if let Some(message) = pool.get_message_by_name(&name) {
        return Some(Symbol::Message(message));
    }
    if let Some(descriptor) = pool.get_enum_by_name(&name) {
        return Some(Symbol::Enum(descriptor));
    }
    if let Some(extension) = pool.get_extension_by_name(&name) {
        return Some(Symbol::Extension(extension));
    }
    member(schema, &name)
}

/// A member of a service, message or enum.
fn member(schema: &Schema, name: &str) -> Option<Symbol> {
    let (parent, member) = name.rsplit_once('.')?;
    let pool = &schema.pool;
    if let Some(service) = pool.get_service_by_name(parent) {
        return method(&service, member).map(Symbol::Method);
    }
    if let Some(message) = pool.get_message_by_name(parent) {
        let field = message.get_field_by_name(member).or_else(|| message.get_field_by_json_name(member));
        return field
            .map(Symbol::Field)
            .or_else(|| message.oneofs().find(|oneof| oneof.name() == member).map(Symbol::Oneof));
    }
    let value = |descriptor: EnumDescriptor| descriptor.get_value_by_name(member).map(Symbol::EnumValue);
    if let Some(descriptor) = pool.get_enum_by_name(parent) {
        return value(descriptor);
    }
    // The full name of an enum value has the scope of the enum, not the enum itself, in front.
    pool.all_enums().find(|descriptor| scope(descriptor) == parent).and_then(value)
}

fn scope(descriptor: &EnumDescriptor) -> &str {
    descriptor.full_name().rsplit_once('.').map_or("", |(scope, _)| scope)
}

/// The service nearest to a name: one that differs by a slip, or has the name behind another package.
pub(crate) fn nearest_service<'n>(wanted: &str, names: &'n [String]) -> Option<&'n str> {
    let short = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    names
        .iter()
        .map(String::as_str)
        .find(|name| name.ends_with(&format!(".{wanted}")))
        .or_else(|| suggest::nearest(wanted, names.iter().map(String::as_str)))
        .or_else(|| {
            let wanted = short(wanted);
            let near = suggest::nearest(
                &wanted,
                names.iter().map(|name| name.rsplit('.').next().unwrap_or_default()),
            )?;
            names.iter().map(String::as_str).find(|name| short(name) == near)
        })
}

/// The definition nearest to a name that does not exist.
pub(crate) fn nearest_symbol(schema: &Schema, wanted: &str) -> Option<String> {
    let pool = &schema.pool;
    let mut names: Vec<String> = pool.services().map(|service| service.full_name().to_owned()).collect();
    names.extend(pool.services().flat_map(|service| {
        service.methods().map(|method| method.full_name().to_owned()).collect::<Vec<_>>()
    }));
    names.extend(pool.all_messages().filter(|m| !m.is_map_entry()).map(|m| m.full_name().to_owned()));
    names.extend(pool.all_enums().map(|descriptor| descriptor.full_name().to_owned()));
    nearest_service(wanted, &names).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::schema;

    #[test]
    fn methods_have_three_spellings() {
        for text in ["a.b.C/D", "/a.b.C/D", "a.b.C.D"] {
            assert_eq!(split_method(text), Some(("a.b.C", "D")), "{text}");
        }
        for text in ["", "C", "/D", "a/b/c", "a.C/", "a.C/b.d"] {
            assert_eq!(split_method(text), None, "{text}");
        }
    }

    #[test]
    fn every_kind_of_definition_is_found() {
        let schema = schema();
        let cases = [
            ("test.v1.Everything", "Service"),
            ("test.v1.Everything/Echo", "Method"),
            (".test.v1.Everything.Echo", "Method"),
            ("test.v1.Scalars", "Message"),
            ("test.v1.Color", "Enum"),
            ("test.v1.Scalars.name", "Field"),
            ("test.v1.Color.COLOR_RED", "EnumValue"),
            ("test.v1.COLOR_RED", "EnumValue"),
            ("test.v1.Shapes.choice", "Oneof"),
        ];
        for (name, kind) in cases {
            let found = format!("{:?}", symbol(&schema, name));
            assert!(found.starts_with(&format!("Some({kind}(")), "{name}: {found}");
        }
        assert!(symbol(&schema, "test.v1.Nothing").is_none());
    }

    #[test]
    fn a_forgotten_package_and_a_slip_are_understood() {
        let names = ["test.v1.Everything".to_owned(), "grpc.health.v1.Health".to_owned()];
        assert_eq!(nearest_service("Everything", &names), Some("test.v1.Everything"));
        assert_eq!(nearest_service("test.v1.Everythin", &names), Some("test.v1.Everything"));
        assert_eq!(nearest_service("other.Helth", &names), Some("grpc.health.v1.Health"));
        assert_eq!(nearest_service("nothing.Like.It", &names), None);
        assert_eq!(nearest_symbol(&schema(), "test.v1.Scalar").as_deref(), Some("test.v1.Scalars"));
    }
}
