//! The type that calls a service.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Method, Service, codec, deprecated, docs, method_static};
use crate::config::Options;

pub(super) fn tokens(service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let (client, full_name) = (&service.names.client, &service.full_name);
    let own_docs = format!("Calls `{full_name}`. Cheap to clone; clones share the channel.");
    let docs = docs(&service.docs, &[&own_docs]);
    let deprecated = deprecated(service.deprecated);
    let calls =
        service.methods.iter().enumerate().map(|(index, method)| call(index, method, service, options));
    quote! {
        #docs
        #deprecated
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        pub struct #client {
            channel: #rt::Channel,
        }

        impl #client {
            /// The service's full name, as in paths and health checks.
            pub const NAME: &'static ::core::primitive::str = #full_name;

            /// Connects to `target` and waits until the connection is ready.
            ///
            /// # Errors
            /// When the target cannot be understood, resolved or connected to.
            pub async fn connect(target: impl #rt::IntoTarget) -> ::core::result::Result<Self, #rt::Error> {
                ::core::result::Result::Ok(Self { channel: #rt::Channel::connect(target).await? })
            }

            /// Calls over an existing channel.
            pub fn new(channel: #rt::Channel) -> Self {
                Self { channel }
            }

            #(#calls)*
        }
    }
}

fn call(index: usize, method: &Method, service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let codec = codec(options);
    let descriptor = method_static(service, index);
    let Method { name, input, output, .. } = method;
    let docs =
        docs(&method.docs, &[&format!("Calls `rpc {}` of `{}`.", method.wire_name, service.full_name)]);
    let deprecated = deprecated(method.deprecated);

    let answer = if method.server_streaming {
        quote!(#rt::Streaming<#output>)
    } else {
        quote!(#rt::Response<#output>)
    };
    let into = if method.client_streaming { quote!(IntoStreamingRequest) } else { quote!(IntoRequest) };
    let convert = if method.client_streaming { quote!(into_streaming_request) } else { quote!(into_request) };
    let (function, generics) = match (method.client_streaming, method.server_streaming) {
        (false, false) => (quote!(unary), quote!(<#codec, #input, #output>)),
        (false, true) => (quote!(server_streaming), quote!(<#codec, #input, #output>)),
        (true, false) => (quote!(client_streaming), quote!(<#codec, #input, #output, _>)),
        (true, true) => (quote!(bidi), quote!(<#codec, #input, #output, _>)),
    };
    let call = quote!(#rt::#function::#generics(&self.channel, #descriptor, #rt::#into::#convert(request)));
    let result = quote!(::core::result::Result<#answer, #rt::Status>);
    let signature_and_body = if method.client_streaming || method.server_streaming {
        quote!(pub async fn #name(&self, request: impl #rt::#into<#input>) -> #result { #call.await })
    } else {
        // The library's own future, without one of ours around it: the usual call is small enough for that to count.
        quote! {
            pub fn #name(
                &self,
                request: impl #rt::#into<#input>,
            ) -> impl ::core::future::Future<Output = #result> + ::core::marker::Send + '_ {
                #call
            }
        }
    };
    let mut tokens = quote! {
        #docs
        #deprecated
        #signature_and_body
    };
    if method.client_streaming {
        tokens.extend(sender_call(index, method, service, options));
    }
    tokens
}

/// The same call fed by hand: a sender for the requests beside the future of the answer.
fn sender_call(index: usize, method: &Method, service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let codec = codec(options);
    let descriptor = method_static(service, index);
    let Method { name, sender_name, input, output, .. } = method;
    let about = format!("Like [`{name}`](Self::{name}), with the requests given one by one to the sender.");
    let docs = docs(&method.docs, &[&about]);
    let deprecated = deprecated(method.deprecated);
    let (function, answer) = if method.server_streaming {
        (quote!(bidi_sender), quote!(#rt::Streaming<#output>))
    } else {
        (quote!(client_streaming_sender), quote!(#rt::Response<#output>))
    };
    quote! {
        #docs
        #deprecated
        pub fn #sender_name(&self) -> (
            #rt::Sender<#input>,
            impl ::core::future::Future<Output = ::core::result::Result<#answer, #rt::Status>>
                + ::core::marker::Send
                + use<>,
        ) {
            #rt::#function::<#codec, #input, #output>(&self.channel, #descriptor)
        }
    }
}
