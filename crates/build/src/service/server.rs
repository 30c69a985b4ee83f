//! The trait that users implement, and the type that mounts an implementation in a server.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Method, Service, codec, deprecated, descriptor_name, docs};
use crate::config::Options;

pub(super) fn tokens(service: &Service, options: &Options) -> TokenStream {
    let mut tokens = service_trait(service, options);
    tokens.extend(server_type(service));
    tokens.extend(service_impl(service, options));
    tokens
}

/// Return types are written out instead of `async fn`, because the futures are promised to be `Send`.
fn service_trait(service: &Service, options: &Options) -> TokenStream {
    let name = &service.names.service;
    let methods = service.methods.iter().map(|method| trait_method(method, service, options));
    let about =
        format!("Implement it with plain `async fn`s and mount it with [`{}`].", service.names.server);
    let docs = docs(&service.docs, &[&format!("The server side of `{}`.", service.full_name), &about]);
    let deprecated = deprecated(service.deprecated);
    quote! {
        #docs
        #deprecated
        pub trait #name: ::core::marker::Send + ::core::marker::Sync + 'static {
            #(#methods)*
        }
    }
}

fn trait_method(method: &Method, service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let Method { name, output, .. } = method;
    let input = handler_input(method, options);
    let docs = docs(&method.docs, &[&format!("`rpc {}` of `{}`.", method.wire_name, service.full_name)]);
    let deprecated = deprecated(method.deprecated);
    let request = if method.client_streaming { quote!(#rt::Streaming<#input>) } else { quote!(#input) };
    let response = if method.server_streaming {
        quote!(impl #rt::Stream<Item = ::core::result::Result<#output, #rt::Status>> + ::core::marker::Send)
    } else {
        quote!(#output)
    };
    let body = if options.default_unimplemented { default_body(method, options) } else { quote!(;) };
    quote! {
        #docs
        #deprecated
        fn #name(&self, request: #rt::Request<#request>) -> impl ::core::future::Future<
            Output = ::core::result::Result<#rt::Response<#response>, #rt::Status>,
        > + ::core::marker::Send
        #body
    }
}

/// Answers UNIMPLEMENTED with the rpc's path, which is what a server says about an rpc that it does not have.
fn default_body(method: &Method, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let output = &method.output;
    let message = format!("{} is not implemented", method.path);
    let response = if method.server_streaming { quote!(#rt::Streaming<#output>) } else { quote!(#output) };
    quote! {{
        ::core::mem::drop(request);
        ::core::future::ready(::core::result::Result::<#rt::Response<#response>, _>::Err(
            #rt::Status::unimplemented(#message),
        ))
    }}
}

fn server_type(service: &Service) -> TokenStream {
    let (name, server, full_name) = (&service.names.service, &service.names.server, &service.full_name);
    let docs = docs(&[], &[&format!("Mounts an implementation of [`{name}`] in a server.")]);
    let deprecated = deprecated(service.deprecated);
    let debug_name = server.to_string();
    quote! {
        #docs
        #deprecated
        pub struct #server<T> {
            inner: ::std::sync::Arc<T>,
        }

        impl<T: self::#name> #server<T> {
            /// The service's full name, as in paths and health checks.
            pub const NAME: &'static ::core::primitive::str = #full_name;

            /// Mounts `service`. It is shared by all calls, so it needs no lock of its own to be called concurrently.
            pub fn new(service: T) -> Self {
                Self::from_arc(::std::sync::Arc::new(service))
            }

            /// Mounts a service that others hold as well.
            pub fn from_arc(service: ::std::sync::Arc<T>) -> Self {
                Self { inner: service }
            }
        }

        impl<T> ::core::clone::Clone for #server<T> {
            fn clone(&self) -> Self {
                Self { inner: ::core::clone::Clone::clone(&self.inner) }
            }
        }

        impl<T> ::core::fmt::Debug for #server<T> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(#debug_name).finish_non_exhaustive()
            }
        }
    }
}

fn service_impl(service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let (name, server, descriptor) =
        (&service.names.service, &service.names.server, descriptor_name(service));
    let arms =
        service.methods.iter().enumerate().map(|(index, method)| slot_arm(index, method, service, options));
    quote! {
        impl<T: self::#name> #rt::Service for #server<T> {
            fn descriptor(&self) -> &'static #rt::ServiceDescriptor {
                &self::#descriptor
            }

            fn slot(
                &self,
                method: ::core::primitive::usize,
            ) -> ::core::option::Option<::core::pin::Pin<::std::boxed::Box<dyn #rt::CallSlot>>> {
                let service = ::core::clone::Clone::clone(&self.inner);
                match method {
                    #(#arms)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    }
}

/// One rpc as a call slot: a future that owns its handle of the service and drives its own response stream, so that the
/// stream may borrow the service.
fn slot_arm(index: usize, method: &Method, service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let codec = codec(options);
    let (trait_name, Method { name, output, .. }) = (&service.names.service, method);
    let input = handler_input(method, options);
    // Named through the trait, so that an rpc called like a method of `Arc` still means the rpc.
    let call = quote!(<T as self::#trait_name>::#name(&*service, request).await);
    let handle = quote!(service: ::std::sync::Arc<T>);
    let one = quote!(request: #rt::Request<#input>);
    let many = quote!(request: #rt::Request<#rt::Streaming<#input>>);
    let sink = quote!(sink: #rt::ResponseSink<#codec, #output>);
    let drive = quote!({
        let response = #call?;
        sink.stream(response).await
    });
    let (kind, closure) = match (method.client_streaming, method.server_streaming) {
        (false, false) => (quote!(unary_slot), quote!(|#handle, #one| async move { #call })),
        (false, true) => (quote!(server_streaming_slot), quote!(|#handle, #one, #sink| async move #drive)),
        (true, false) => (quote!(client_streaming_slot), quote!(|#handle, #many| async move { #call })),
        (true, true) => (quote!(bidi_slot), quote!(|#handle, #many, #sink| async move #drive)),
    };
    quote! {
        #index => ::core::option::Option::Some(#rt::#kind::<#codec, #input, #output, _, _, _>(service, #closure)),
    }
}

/// What a handler gets of each request message.
fn handler_input(method: &Method, options: &Options) -> TokenStream {
    let (rt, input) = (&options.runtime, &method.input);
    if options.view_requests.iter().any(|path| method.is_under(path)) {
        quote!(#rt::View<#input>)
    } else {
        quote!(#input)
    }
}
