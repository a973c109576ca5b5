//! Addresses: their texts, and whatever names one.

mod support;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::{Path, PathBuf};
use support::sockets::any_name;
use watchbell::net::{Address, Datagram, Listener, Stream, ToAddress};

const WEB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);

#[track_caller]
fn names(given: impl ToAddress, expected: &Address) {
    let address = given.to_address().expect("an address");
    assert_eq!(*address, *expected);
}

#[test]
fn an_address_is_named_by_what_people_have_in_hand() {
    let inet = Address::Inet(WEB);
    names(WEB, &inet);
    names(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 80), &inet);
    names((WEB.ip(), 80), &inet);
    names((Ipv4Addr::new(192, 0, 2, 1), 80), &inet);
    names(([192, 0, 2, 1], 80), &inet);
    names("192.0.2.1:80", &inet);
    names("192.0.2.1:80".to_owned(), &inet);
    names(&inet, &inet);
    names(inet.clone(), &inet);
    let v6: SocketAddrV6 = "[2001:db8::1]:80".parse().expect("an address");
    names(v6, &Address::Inet(v6.into()));
    let unix = Address::Unix("/run/echo".into());
    names("unix:/run/echo", &unix);
    names(Path::new("/run/echo"), &unix);
    names(PathBuf::from("/run/echo"), &unix);
}

#[test]
fn the_text_of_an_address_is_read_as_that_address() {
    let addresses = [
        Address::Inet(WEB),
        Address::Inet("[::1]:0".parse().expect("an address")),
        Address::Inet("[fe80::1%2]:7".parse().expect("an address")),
        Address::Unix("relative/path".into()),
        Address::Unix("/with:colon".into()),
        Address::Abstract(b"name".to_vec()),
    ];
    for address in addresses {
        assert_eq!(address.to_string().parse(), Ok(address.clone()));
    }
}

#[test]
fn a_text_that_is_no_address_is_refused_with_what_would_be_one() {
    let texts = [
        "",
        "80",
        ":80",
        "localhost:80",
        "127.0.0.1",
        "::1:80",
        "[::1]",
        "127.0.0.1:65536",
        "unix:",
        "unix:@",
        "UNIX:/run/echo",
        "/run/echo",
        "tcp://127.0.0.1:80",
    ];
    for text in texts {
        let refused = Listener::bind(text, 1).expect_err(text);
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{text}");
        let message = refused.to_string();
        assert!(message.starts_with(&format!("'{text}' is no address: write 127.0.0.1:80, ")));
        assert_eq!(Stream::connect(text).expect_err(text).kind(), ErrorKind::InvalidInput);
        assert_eq!(Datagram::bind(text).expect_err(text).kind(), ErrorKind::InvalidInput);
    }
    for nobody in [Address::Unnamed, Address::Untold] {
        assert!(nobody.to_string().parse::<Address>().is_err(), "{nobody}");
    }
}

#[test]
fn a_port_is_told_of_internet_addresses_only() {
    let listener = Listener::bind("127.0.0.1:0", 1).expect("a free port");
    let port = listener.port().expect("bound").expect("an Internet address");
    assert_ne!(port, 0);
    let address = listener.local_address().expect("bound");
    assert_eq!(address.as_inet(), Some(SocketAddr::from(([127, 0, 0, 1], port))));
    Stream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");

    let unix = Listener::bind(any_name(), 1).expect("a free name");
    assert_eq!(unix.port().expect("bound"), None);
    assert_eq!(unix.local_address().expect("bound").as_inet(), None);
}

#[test]
fn a_datagram_is_sent_to_whatever_names_an_address() {
    let server = Datagram::bind("127.0.0.1:0").expect("a free port");
    let address = server.local_address().expect("bound");
    let client = Datagram::bind(([127, 0, 0, 1], 0)).expect("a free port");
    client.send_to(b"1", &address).expect("there is room");
    client.send_to(b"2", address.to_string()).expect("there is room");
    client.send_to(b"3", address.as_inet().expect("an Internet address")).expect("there is room");
    let refused = client.send_to(b"4", "nobody").expect_err("no address");
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}
