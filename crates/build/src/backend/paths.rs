//! Leads the paths of generated code through the facade.
//!
//! A user's crate depends on `peregrine` alone, so `::buffa::Message` in it must become `::peregrine::rt::buffa::Message`.
//! Done on tokens: text in strings and comments is never touched, and only the first segment of a global path counts
//! (`super::buffa::X` is a user's package of that name).

use proc_macro2::{Group, Ident, Spacing, TokenStream, TokenTree};

/// `tokens`, in which every global path into one of `crates` starts with `runtime` instead of `::`.
pub(super) fn through_runtime(tokens: TokenStream, crates: &[&str], runtime: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = TokenStream::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at..] {
            [colon, second, TokenTree::Ident(name), ..]
                if is_path_separator(colon, second)
                    && crates.iter().any(|known| name == known)
                    && starts_path(&tokens[..at]) =>
            {
                out.extend(runtime.clone());
                out.extend([colon.clone(), second.clone(), tokens[at + 2].clone()]);
                at += 3;
            }
            [TokenTree::Group(group), ..] => {
                let inner = through_runtime(group.stream(), crates, runtime);
                let mut replaced = Group::new(group.delimiter(), inner);
                replaced.set_span(group.span());
                out.extend([TokenTree::Group(replaced)]);
                at += 1;
            }
            [other, ..] => {
                out.extend([other.clone()]);
                at += 1;
            }
            [] => break,
        }
    }
    out
}

fn is_path_separator(first: &TokenTree, second: &TokenTree) -> bool {
    let joint = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint);
    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    joint(first) && colon(second)
}

/// Whether a `::` after `before` begins a path rather than going on with one.
fn starts_path(before: &[TokenTree]) -> bool {
    match before {
        // A lifetime: `&'a ::buffa::Bytes`.
        [.., TokenTree::Punct(quote), TokenTree::Ident(_)] if quote.as_char() == '\'' => true,
        [.., TokenTree::Ident(word)] => ends_before_path(word),
        _ => true,
    }
}

/// Whether `word` is a keyword after which a new path may begin, as in `impl ::buffa::Message` and `<T as ::buffa::X>`.
fn ends_before_path(word: &Ident) -> bool {
    const WORDS: &[&str] = &[
        "as", "const", "dyn", "else", "for", "if", "impl", "in", "match", "mut", "pub", "return", "unsafe",
        "use", "where", "while", "yield",
    ];
    WORDS.iter().any(|keyword| word == keyword)
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn rewritten(tokens: TokenStream) -> String {
        through_runtime(tokens, &["buffa"], &quote!(::peregrine::rt)).to_string()
    }

    #[test]
    fn global_paths_are_led_through_the_runtime() {
        let tokens = quote! {
            impl<'a> ::buffa::Message for Foo where T: ::buffa::Message {
                fn f(x: &'a ::buffa::Bytes) -> ::buffa::Result<<T as ::buffa::Message>::Out> {
                    ::buffa::encode!(::buffa::X)
                }
            }
        };
        let expected = quote! {
            impl<'a> ::peregrine::rt::buffa::Message for Foo where T: ::peregrine::rt::buffa::Message {
                fn f(x: &'a ::peregrine::rt::buffa::Bytes)
                    -> ::peregrine::rt::buffa::Result<<T as ::peregrine::rt::buffa::Message>::Out>
                {
                    ::peregrine::rt::buffa::encode!(::peregrine::rt::buffa::X)
                }
            }
        };
        assert_eq!(rewritten(tokens), expected.to_string());
    }

    #[test]
    fn packages_strings_and_other_crates_are_left_alone() {
        let tokens = quote! {
            type A = super::buffa::Message;
            type B = self::x::buffa::Y;
            const C: &str = "::buffa::Message";
            #[doc = " uses ::buffa::Message"]
            type D = ::buffa_types::Any;
            type E = ::core::option::Option<u8>;
        };
        assert_eq!(rewritten(tokens.clone()), tokens.to_string());
    }
}
