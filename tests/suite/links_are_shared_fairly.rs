//! Flows share links fairly: known cases are exact, random cases agree with the textbook's filling,
//! and rates depend on nothing but the flows.

use hallway::cost::LinkId;
use hallway::simulate::links::{Flow, Links, MOST_LINKS};
use proptest::prelude::*;

const FREE: f64 = f64::INFINITY;

/// Rates may differ by this much, relative to the larger one.
const CLOSE: f64 = 1e-9;

/// A flow that owns its list of links.
#[derive(Debug, Clone)]
pub struct Wish {
    weight: f64,
    cap: f64,
    uses: Vec<(LinkId, f64)>,
}

impl Wish {
    fn flow(&self, links: &Links) -> Flow {
        let mut uses = [(LinkId(0), 0.0); MOST_LINKS];
        uses[..self.uses.len()].copy_from_slice(&self.uses);
        links.flow(self.weight, self.cap, uses)
    }

    /// How much of a link it uses per unit of its rate.
    fn coefficient(&self, link: usize) -> f64 {
        let on_it = self.uses.iter().filter(|(id, _)| id.0 as usize == link);
        on_it.map(|(_, coefficient)| coefficient).sum()
    }
}

pub fn wish(weight: f64, cap: f64, uses: &[(u32, f64)]) -> Wish {
    let uses = uses.iter().map(|&(link, coefficient)| (LinkId(link), coefficient)).collect();
    Wish { weight, cap, uses }
}

/// A flow of weight 1 without a cap, which uses as much of each link as its rate.
fn plain(links: &[u32]) -> Wish {
    let uses: Vec<_> = links.iter().map(|&link| (link, 1.0)).collect();
    wish(1.0, FREE, &uses)
}

fn rates(flows: &[Option<Flow>]) -> Vec<f64> {
    flows.iter().flatten().map(|flow| flow.rate).collect()
}

fn shared(capacities: &[f64], wishes: &[Wish]) -> Vec<f64> {
    let mut links = Links::new(capacities);
    let mut flows: Vec<_> = wishes.iter().map(|wish| Some(wish.flow(&links))).collect();
    links.share(&mut flows);
    rates(&flows)
}

#[test]
fn a_flow_alone_has_its_narrowest_link_or_its_cap() {
    assert_eq!(shared(&[8.0, 6.0], &[plain(&[0, 1])]), [6.0]);
    assert_eq!(shared(&[8.0, 6.0], &[wish(3.0, FREE, &[(0, 2.0), (1, 1.0)])]), [4.0]);
    assert_eq!(shared(&[8.0, 6.0], &[wish(1.0, 5.0, &[(0, 1.0), (1, 1.0)])]), [5.0]);
    assert_eq!(shared(&[8.0], &[wish(2.0, 5.0, &[])]), [5.0]);
    assert_eq!(shared(&[8.0], &[wish(2.0, 5.0, &[(0, 0.0)])]), [5.0]);
}

#[test]
fn two_flows_share_one_link() {
    assert_eq!(shared(&[10.0], &[plain(&[0]), plain(&[0])]), [5.0, 5.0]);
    let weighted = [wish(1.0, FREE, &[(0, 1.0)]), wish(3.0, FREE, &[(0, 1.0)])];
    assert_eq!(shared(&[8.0], &weighted), [2.0, 6.0]);
    let capped = [wish(1.0, 3.0, &[(0, 1.0)]), plain(&[0])];
    assert_eq!(shared(&[10.0], &capped), [3.0, 7.0]);
    let both_capped = [wish(1.0, 3.0, &[(0, 1.0)]), wish(1.0, 4.0, &[(0, 1.0)])];
    assert_eq!(shared(&[10.0], &both_capped), [3.0, 4.0]);
    // The rates are equal, though one flow uses three times as much of the link.
    let thirsty = [wish(1.0, FREE, &[(0, 1.0)]), wish(1.0, FREE, &[(0, 3.0)])];
    assert_eq!(shared(&[8.0], &thirsty), [2.0, 2.0]);
    let all_of_it = [wish(2.0, FREE, &[(0, 0.5)]), wish(1.0, 1.5, &[(0, 2.0)])];
    assert_eq!(shared(&[9.0], &all_of_it), [12.0, 1.5]);
    let stopped = [wish(1.0, 0.0, &[(0, 1.0)]), plain(&[0])];
    assert_eq!(shared(&[10.0], &stopped), [0.0, 10.0]);
}

/// Bertsekas & Gallager, section 6.5.2: the narrower link limits the long flow, and the short flow
/// on the wider link takes what is left there.
#[test]
fn a_long_flow_meets_a_short_one_on_each_link() {
    let flows = [plain(&[0, 1]), plain(&[0]), plain(&[1])];
    assert_eq!(shared(&[10.0, 10.0], &flows), [5.0, 5.0, 5.0]);
    assert_eq!(shared(&[4.0, 10.0], &flows), [2.0, 2.0, 8.0]);
    assert_eq!(shared(&[10.0, 4.0], &flows), [2.0, 8.0, 2.0]);
    let weighted = [wish(3.0, FREE, &[(0, 1.0), (1, 1.0)]), plain(&[0]), plain(&[1])];
    assert_eq!(shared(&[4.0, 10.0], &weighted), [3.0, 1.0, 7.0]);
    let capped = [wish(1.0, 1.0, &[(0, 1.0), (1, 1.0)]), plain(&[0]), plain(&[1])];
    assert_eq!(shared(&[4.0, 10.0], &capped), [1.0, 3.0, 9.0]);
    let thirsty = [wish(1.0, FREE, &[(0, 1.0), (1, 4.0)]), plain(&[0]), plain(&[1])];
    assert_eq!(shared(&[4.0, 10.0], &thirsty), [2.0, 2.0, 2.0]);
    assert_eq!(shared(&[6.0, 10.0], &thirsty), [2.0, 4.0, 2.0]);
}

/// Each direction has a link of its own, and both share the memory behind them.
#[test]
fn two_private_links_and_a_common_one() {
    let flows = [plain(&[0, 2]), plain(&[1, 2])];
    assert_eq!(shared(&[25.0, 25.0, 60.0], &flows), [25.0, 25.0]);
    assert_eq!(shared(&[25.0, 25.0, 40.0], &flows), [20.0, 20.0]);
    assert_eq!(shared(&[10.0, 25.0, 30.0], &flows), [10.0, 20.0]);
    assert_eq!(shared(&[25.0, 25.0, 50.0], &flows), [25.0, 25.0]);
}

#[test]
fn what_leaves_gives_back_what_it_had() {
    let mut links = Links::new(&[25.0, 25.0, 40.0]);
    let wishes = [plain(&[0, 2]), plain(&[1, 2])];
    let mut flows = wishes.map(|wish| Some(wish.flow(&links)));
    links.share(&mut flows);
    assert_eq!(rates(&flows), [20.0, 20.0]);
    let gone = flows[0].take();
    links.share(&mut flows);
    assert_eq!(rates(&flows), [25.0]);
    flows[0] = gone;
    links.share(&mut flows);
    assert_eq!(rates(&flows), [20.0, 20.0]);
}

/// Decimal fractions are not exact, yet ten of these links fill up together.
#[test]
fn ties_leave_nobody_without_a_rate() {
    let capacities: Vec<f64> = (1..=10).map(|flows| f64::from(flows) * 0.1).collect();
    let across: Vec<(u32, f64)> = (0..MOST_LINKS as u32).map(|link| (link, 1.0)).collect();
    let mut wishes = vec![wish(1.0, FREE, &across)];
    for link in 0..10 {
        // With the long flow above, a link has one flow for each tenth of its capacity.
        let others = if link < MOST_LINKS as u32 { link } else { link + 1 };
        wishes.extend((0..others).map(|_| plain(&[link])));
    }
    for (index, rate) in shared(&capacities, &wishes).into_iter().enumerate() {
        assert!((rate - 0.1).abs() < 1e-15, "flow {index} runs at {rate}");
    }
    // In floating point, 0.6 - 0.1 - 0.4 - 0.1 is less than 0.
    let caps = [0.1, 0.4, 0.1].map(|cap| wish(cap, cap, &[(0, 1.0)]));
    let tiny = wish(1e-20, FREE, &[(0, 1.0)]);
    assert_eq!(shared(&[0.6], &[&caps[..], &[tiny]].concat()), [0.1, 0.4, 0.1, 1e-20]);
}

/// The rates found by filling from scratch, as in the textbook: one stop after another, the nearest
/// first.
pub fn filled(capacities: &[f64], wishes: &[Wish]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; wishes.len()];
    while rates.contains(&None) {
        let full = |link: usize| {
            let mut left = capacities[link];
            let mut load = 0.0;
            for (wish, rate) in wishes.iter().zip(&rates) {
                match rate {
                    Some(rate) => left -= rate * wish.coefficient(link),
                    None => load += wish.weight * wish.coefficient(link),
                }
            }
            if load == 0.0 { FREE } else { left / load }
        };
        let links: Vec<f64> = (0..capacities.len()).map(full).collect();
        let stop = |flow: usize| {
            let wish = &wishes[flow];
            let on_it = |link: &usize| wish.coefficient(*link) > 0.0;
            let stops = (0..links.len()).filter(on_it).map(|link| links[link]);
            stops.fold(wish.cap / wish.weight, f64::min)
        };
        let open = (0..wishes.len()).filter(|flow| rates[*flow].is_none());
        let nearest = open.min_by(|a, b| stop(*a).total_cmp(&stop(*b))).expect("one is open");
        rates[nearest] = Some(stop(nearest) * wishes[nearest].weight);
    }
    rates.into_iter().flatten().collect()
}

/// Checks the max-min property itself: no link is overfull, and each flow is at its cap, or on a
/// full link where no flow has more per unit of weight.
fn check_fair(capacities: &[f64], wishes: &[Wish], rates: &[f64]) -> Result<(), TestCaseError> {
    let everyone = || wishes.iter().zip(rates);
    let used = |link| everyone().map(|(wish, rate)| wish.coefficient(link) * rate).sum::<f64>();
    for (link, capacity) in capacities.iter().enumerate() {
        prop_assert!(used(link) <= capacity * (1.0 + CLOSE), "link {link}: {}", used(link));
    }
    for (wish, &rate) in everyone() {
        let share = rate / wish.weight;
        let stops_it = |link: usize| {
            let is_full = used(link) >= capacities[link] * (1.0 - CLOSE);
            let mut others = everyone().filter(|(other, _)| other.coefficient(link) > 0.0);
            let has_most = others.all(|(other, r)| r / other.weight <= share * (1.0 + CLOSE));
            wish.coefficient(link) > 0.0 && is_full && has_most
        };
        let capped = rate >= wish.cap * (1.0 - CLOSE);
        prop_assert!(capped || (0..capacities.len()).any(stops_it), "{wish:?} runs at {rate}");
        prop_assert!(rate > 0.0 && rate <= wish.cap, "{wish:?} runs at {rate}");
    }
    Ok(())
}

/// Multiples of a quarter tie often and exactly; the other numbers nearly never do.
fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![(1..=16u8).prop_map(|quarters| f64::from(quarters) / 4.0), 0.01..10.0f64]
}

fn any_wish(links: usize) -> impl Strategy<Value = Wish> {
    let most = links.min(MOST_LINKS);
    let chosen = prop::sample::subsequence((0..links as u32).collect::<Vec<_>>(), 0..=most);
    let coefficient = prop_oneof![4 => Just(1.0), 3 => amount(), 1 => Just(0.0)];
    let coefficients = prop::collection::vec(coefficient, most);
    let cap = prop_oneof![Just(FREE), amount()];
    (amount(), cap, chosen, coefficients).prop_map(|(weight, cap, chosen, coefficients)| {
        let uses: Vec<_> = chosen.into_iter().zip(coefficients).collect();
        let tied = uses.iter().any(|(_, coefficient)| *coefficient > 0.0);
        wish(weight, if tied { cap } else { cap.min(1.0) }, &uses)
    })
}

fn any_flows() -> impl Strategy<Value = (Vec<f64>, Vec<Wish>)> {
    (1..=8usize).prop_flat_map(|links| {
        let wishes = prop::collection::vec(any_wish(links), 1..=12);
        (prop::collection::vec(amount(), links), wishes)
    })
}

proptest! {
    #[test]
    fn any_flows_run_as_the_textbook_has_it((capacities, wishes) in any_flows()) {
        let rates = shared(&capacities, &wishes);
        for (ours, plain) in rates.iter().zip(filled(&capacities, &wishes)) {
            prop_assert!((ours - plain).abs() <= CLOSE * plain, "{ours} is not {plain}");
        }
        check_fair(&capacities, &wishes, &rates)?;
    }

    #[test]
    fn what_was_shared_before_leaves_no_trace((capacities, wishes) in any_flows()) {
        let mut links = Links::new(&capacities);
        let mut flows: Vec<_> = wishes.iter().map(|wish| Some(wish.flow(&links))).collect();
        for count in (0..=wishes.len()).rev() {
            links.share(&mut flows[..count]);
            let bits = |rates: Vec<f64>| rates.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            let anew = shared(&capacities, &wishes[..count]);
            prop_assert_eq!(bits(rates(&flows[..count])), bits(anew));
        }
    }
}
