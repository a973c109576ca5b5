//! Every form that is read, and every one that is not.
#![allow(clippy::unwrap_used)]

use super::*;

fn parsed(text: &str) -> Vec<String> {
    let endpoint = parse(text.as_ref()).unwrap();
    endpoint.addresses.iter().map(ToString::to_string).collect()
}

fn refused(text: impl AsRef<OsStr>) -> AddressError {
    parse(text.as_ref()).expect_err("no address")
}

#[test]
fn the_three_forms_are_read() {
    assert_eq!(parsed("127.0.0.1:7007"), ["127.0.0.1:7007"]);
    assert_eq!(parsed("0.0.0.0:0"), ["0.0.0.0:0"]);
    assert_eq!(parsed("[::1]:65535"), ["[::1]:65535"]);
    assert_eq!(parsed("[fe80::1%2]:80"), ["[fe80::1%2]:80"]);
    assert_eq!(parsed("unix:/run/echo.sock"), ["unix:/run/echo.sock"]);
    assert_eq!(parsed("unix:relative:7"), ["unix:relative:7"]);
}

#[test]
fn a_host_name_stands_for_all_that_it_resolves_to() {
    let addresses = parsed("localhost:7007");
    assert!(addresses.contains(&"127.0.0.1:7007".to_owned()), "{addresses:?}");
    let mut distinct = addresses.clone();
    distinct.dedup();
    assert_eq!(distinct, addresses);
}

#[test]
fn a_path_may_be_any_bytes_up_to_the_longest() {
    let longest = format!("unix:{}", "x".repeat(LONGEST_PATH));
    assert_eq!(parsed(&longest), [longest.as_str()]);
    let odd = OsStr::from_bytes(b"unix:/tmp/\xff");
    assert_eq!(parse(odd).unwrap().addresses.len(), 1);
}

#[test]
fn each_bad_form_is_refused_for_its_own_reason() {
    assert!(matches!(refused(""), AddressError::Empty));
    assert!(matches!(refused("local\0host:1"), AddressError::Nul));
    assert!(matches!(refused("unix:/tmp/\0"), AddressError::Nul));
    assert!(matches!(refused(OsStr::from_bytes(b"\xff:1")), AddressError::NotText));
    assert!(matches!(refused("localhost"), AddressError::NoPort));
    assert!(matches!(refused("127.0.0.1:"), AddressError::NoPort));
    assert!(matches!(refused("[::1]"), AddressError::NoPort));
    assert!(matches!(refused("[::1]:"), AddressError::NoPort));
    assert!(matches!(refused(":7007"), AddressError::NoHost));
    for port in ["65536", "-1", "+1", "http", "7 ", "0x1", "99999999999999999999"] {
        assert!(matches!(refused(format!("127.0.0.1:{port}")), AddressError::BadPort), "{port}");
        assert!(matches!(refused(format!("[::1]:{port}")), AddressError::BadPort), "{port}");
    }
    assert!(matches!(refused("::1:7007"), AddressError::Brackets));
    assert!(matches!(refused("[::1:7007"), AddressError::Brackets));
    assert!(matches!(refused("::1]:7007"), AddressError::Brackets));
    assert!(matches!(refused("[localhost]:7007"), AddressError::BadIpv6));
    assert!(matches!(refused("[127.0.0.1]:7007"), AddressError::BadIpv6));
    assert!(matches!(refused("unix:"), AddressError::NoPath));
    assert!(matches!(refused("unix:@name"), AddressError::AtSign));
    let long = format!("unix:{}", "x".repeat(LONGEST_PATH + 1));
    assert!(matches!(refused(long), AddressError::LongPath(108)));
    assert!(matches!(refused("no such host:7007"), AddressError::Unresolved(_)));
}

#[test]
fn what_is_meant_for_another_program_is_told_its_form_here() {
    assert!(matches!(refused("[fe80::1%lo]:7007"), AddressError::Scope));
    assert!(matches!(refused("[fe80::1%]:7007"), AddressError::Scope));
    assert!(matches!(refused("[fe80%lo]:7007"), AddressError::BadIpv6));
    for text in ["tcp://127.0.0.1:7", "http://localhost", "unix:///run/x"] {
        assert!(matches!(refused(text), AddressError::Scheme), "{text}");
    }
    assert!(matches!(refused("127.0.0.1:1,127.0.0.1:2"), AddressError::Several));
    for text in ["UNIX:x", "Unix:/run/x"] {
        assert!(matches!(refused(text), AddressError::UpperCase), "{text}");
    }
    for text in ["/tmp/x.sock", "./x.sock", "../x:7"] {
        let error = refused(text);
        assert!(error.to_string().ends_with(&format!("write unix:{text}")), "{error}");
    }
    assert!(matches!(refused("*:7007"), AddressError::Star));
    for text in ["unix:~/x.sock", "unix:~me/x.sock"] {
        assert!(matches!(refused(text), AddressError::Tilde), "{text}");
    }
    assert_eq!(parsed("unix:./~/x.sock"), ["unix:./~/x.sock"]);
}

#[test]
fn a_host_that_is_a_number_is_an_address_of_four_parts_or_none() {
    for host in ["1", "127.1", "0x7f000001", "256.0.0.1", "1.2.3.4.5", "127.0.0.01", "a.b.0xF"] {
        assert!(matches!(refused(format!("{host}:7009")), AddressError::BadIpv4), "{host}");
    }
}
