//! Services: traits, servers and clients.
//!
//! [`model`] reads them from the descriptors and settles their names; [`server`] and [`client`] write the code. All
//! paths are absolute or start with `self::`, so that no message of the user can hide what they mean (wire-rules G1).

mod client;
mod model;
mod server;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

pub(crate) use model::{Method, Service, services};

use crate::config::Options;
use crate::error::{Error, Result};

/// The items of one service.
pub(crate) fn items(service: &Service, options: &Options) -> Result<Vec<syn::Item>> {
    let mut tokens = descriptor(service, options);
    if options.build_server {
        tokens.extend(server::tokens(service, options));
    }
    if options.build_client {
        tokens.extend(client::tokens(service, options));
    }
    let file: syn::File = syn::parse2(tokens).map_err(|cause| {
        Error::new(format!("the code for service {} is no Rust: {cause}", service.full_name))
    })?;
    Ok(file.items)
}

/// The static that server and client share: names, paths and shapes of the rpcs.
fn descriptor(service: &Service, options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let name = descriptor_name(service);
    let full_name = &service.full_name;
    let count = service.methods.len();
    let up = vec![quote!(super::); service.depth];
    let methods = service.methods.iter().map(|method| {
        let Method { path, wire_name, client_streaming, server_streaming, .. } = method;
        quote! {
            #rt::MethodDescriptor {
                path: #path,
                service: #full_name,
                name: #wire_name,
                client_streaming: #client_streaming,
                server_streaming: #server_streaming,
                file_descriptor_set: self::#(#up)*FILE_DESCRIPTOR_SET,
            }
        }
    });
    let methods_name = quote::format_ident!("{name}_METHODS");
    quote! {
        static #methods_name: [#rt::MethodDescriptor<'static>; #count] = [#(#methods),*];
        static #name: #rt::ServiceDescriptor = #rt::ServiceDescriptor {
            name: #full_name,
            methods: &self::#methods_name,
            file_descriptor_set: self::#(#up)*FILE_DESCRIPTOR_SET,
        };
    }
}

/// Statics live among values, where messages have no names; two underscores keep them apart from extensions.
fn descriptor_name(service: &Service) -> Ident {
    quote::format_ident!("__{}", service.names.unescaped)
}

/// `static` entry of a method, for clients.
fn method_static(service: &Service, index: usize) -> TokenStream {
    let methods = quote::format_ident!("{}_METHODS", descriptor_name(service));
    quote!(&self::#methods[#index])
}

fn codec(options: &Options) -> TokenStream {
    let rt = &options.runtime;
    let marker = quote::format_ident!("{}", options.codec.marker());
    quote!(#rt::#marker)
}

/// `#[doc]` lines, the proto's first and then ours.
fn docs(from_proto: &[String], ours: &[&str]) -> TokenStream {
    let separator = (!from_proto.is_empty() && !ours.is_empty()).then(String::new);
    let ours = ours.iter().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    let lines = from_proto.iter().cloned().chain(separator).chain(ours);
    quote!(#(#[doc = #lines])*)
}

fn deprecated(yes: bool) -> TokenStream {
    if yes { quote!(#[deprecated]) } else { TokenStream::new() }
}
