//! The reply under measurement: typical protobuf data, the same bytes in every run and on every stack.
//!
//! Shared with the program of tonic, which includes this file.

/// Bytes of a reply.
pub(crate) const PAGE: usize = 64 * 1024;

/// A serialized list of orders with names, ids and timestamps, cut to [`PAGE`] bytes.
pub(crate) fn page() -> Vec<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut page = Vec::with_capacity(PAGE + 512);
    let mut number = 4_200_000;
    while page.len() < PAGE {
        number += 1 + random.below(3);
        put_bytes(&mut page, 1, &order(number, &mut random));
    }
    page.truncate(PAGE);
    page
}

/// One order:
///
/// ```proto
/// message Order {
///   uint64 number = 1; string customer = 2; string email = 3; string status = 4;
///   repeated Line lines = 5; uint64 created_at_ms = 6; uint64 total_cents = 7; fixed64 trace = 8;
/// }
/// message Line { string article = 1; uint64 quantity = 2; uint64 cents = 3; }
/// ```
fn order(number: u64, random: &mut Random) -> Vec<u8> {
    let (first, last) = (random.pick(&FIRST), random.pick(&LAST));
    let mut order = Vec::new();
    put_varint(&mut order, 1, number);
    put_bytes(&mut order, 2, format!("{first} {last}").as_bytes());
    let email = format!("{}.{}{}@example.com", first, last, random.below(1_000)).to_lowercase();
    put_bytes(&mut order, 3, email.as_bytes());
    put_bytes(&mut order, 4, random.pick(&STATUS).as_bytes());
    let mut total = 0;
    for _ in 0..=random.below(4) {
        let (quantity, cents) = (1 + random.below(5), 99 + 100 * random.below(400));
        total += quantity * cents;
        let mut line = Vec::new();
        let article = format!("{}-{:05}", random.pick(&ARTICLES), random.below(100_000));
        put_bytes(&mut line, 1, article.as_bytes());
        put_varint(&mut line, 2, quantity);
        put_varint(&mut line, 3, cents);
        put_bytes(&mut order, 5, &line);
    }
    put_varint(&mut order, 6, 1_767_225_600_000 + number * 731 + random.below(731));
    put_varint(&mut order, 7, total);
    // What does not compress at all is part of real messages too.
    order.push(8 << 3 | 1);
    order.extend_from_slice(&random.number().to_le_bytes());
    order
}

const FIRST: [&str; 12] = [
    "Ada", "Grace", "Edsger", "Barbara", "Alan", "Donald", "Leslie", "Tony", "Frances", "Niklaus", "Radia",
    "John",
];
const LAST: [&str; 12] = [
    "Lovelace", "Hopper", "Dijkstra", "Liskov", "Turing", "Knuth", "Lamport", "Hoare", "Allen", "Wirth",
    "Perlman", "McCarthy",
];
const STATUS: [&str; 5] = ["PLACED", "PAID", "SHIPPED", "DELIVERED", "RETURNED"];
const ARTICLES: [&str; 8] = ["BOOK", "LAMP", "CABLE", "DESK", "CHAIR", "PAPER", "INK", "FRAME"];

fn put_varint(out: &mut Vec<u8>, field: u8, value: u64) {
    out.push(field << 3);
    varint(out, value);
}

fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// xorshift64*, the same numbers every time.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.number() >> 33) % bound
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}
