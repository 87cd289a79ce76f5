//! Flows share links fairly: known cases are exact, random cases agree with filling from scratch,
//! and flows that a change does not affect keep their rates.

use hallway::cost::LinkId;
use hallway::simulate::links::{Flow, FlowId, Links, MOST_LINKS};
use proptest::prelude::*;
use proptest::sample::Index;

const FREE: f64 = f64::INFINITY;

/// Rates may differ by this much, relative to the larger one.
const CLOSE: f64 = 1e-9;

/// A flow that owns its list of links.
#[derive(Debug, Clone)]
struct Wish {
    weight: f64,
    cap: f64,
    uses: Vec<(LinkId, f64)>,
}

impl Wish {
    fn flow(&self) -> Flow<'_> {
        Flow { weight: self.weight, cap: self.cap, uses: &self.uses }
    }

    /// How much of a link it uses per unit of its rate.
    fn coefficient(&self, link: usize) -> f64 {
        let on_it = self.uses.iter().filter(|(id, _)| id.0 as usize == link);
        on_it.map(|(_, coefficient)| coefficient).sum()
    }
}

fn wish(weight: f64, cap: f64, uses: &[(u32, f64)]) -> Wish {
    let uses = uses.iter().map(|&(link, coefficient)| (LinkId(link), coefficient)).collect();
    Wish { weight, cap, uses }
}

/// A flow of weight 1 without a cap, which uses as much of each link as its rate.
fn plain(links: &[u32]) -> Wish {
    let uses: Vec<_> = links.iter().map(|&link| (link, 1.0)).collect();
    wish(1.0, FREE, &uses)
}

fn add_all(links: &mut Links, wishes: &[Wish]) -> Vec<FlowId> {
    let ids = wishes.iter().map(|wish| links.add(wish.flow())).collect();
    links.share();
    ids
}

fn shared(capacities: &[f64], wishes: &[Wish]) -> Vec<f64> {
    let mut links = Links::new(capacities);
    let ids = add_all(&mut links, wishes);
    ids.into_iter().map(|id| links.rate(id)).collect()
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
    let ids = add_all(&mut links, &[plain(&[0, 2]), plain(&[1, 2])]);
    assert_eq!(links.changed().collect::<Vec<_>>(), [(ids[0], 20.0), (ids[1], 20.0)]);
    links.remove(ids[0]);
    links.share();
    assert_eq!(links.changed().collect::<Vec<_>>(), [(ids[1], 25.0)]);
    // A flow goes and an equal one comes at once, so nothing changes for the other.
    let again = add_all(&mut links, &[plain(&[0, 2])])[0];
    links.remove(again);
    let like = add_all(&mut links, &[plain(&[0, 2])])[0];
    assert_eq!(like.index(), again.index());
    assert_eq!(links.changed().collect::<Vec<_>>(), [(like, 20.0)]);
    links.clear();
    links.share();
    assert_eq!(links.changed().len(), 0);
    assert_eq!(add_all(&mut links, &[plain(&[2])])[0].index(), 0);
    assert_eq!(links.changed().map(|(_, rate)| rate).collect::<Vec<_>>(), [40.0]);
}

/// Decimal fractions are not exact, yet ten of these links fill up together.
#[test]
fn ties_leave_nobody_without_a_rate() {
    let capacities: Vec<f64> = (1..=10).map(|flows| f64::from(flows) * 0.1).collect();
    let across: Vec<(u32, f64)> = (0..4).map(|link| (link, 1.0)).collect();
    let mut wishes = vec![wish(1.0, FREE, &across)];
    for link in 0..10 {
        // With the long flow above, a link has one flow for each tenth of its capacity.
        let others = if link < 4 { link } else { link + 1 };
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

#[test]
fn others_are_left_alone() {
    let mut links = Links::new(&[10.0, 10.0, 10.0, 100.0]);
    // All flows use link 3, which is too wide to connect any of them.
    let flows = [plain(&[0, 3]), plain(&[0, 3]), plain(&[1, 3]), plain(&[1, 2, 3])];
    let ids = add_all(&mut links, &flows);
    let touched = |links: &Links| links.changed().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(touched(&links).len(), 4);
    let before = ids.iter().map(|&id| links.rate(id).to_bits()).collect::<Vec<_>>();
    let new = add_all(&mut links, &[plain(&[0, 3])])[0];
    assert_eq!(touched(&links), [ids[0], ids[1], new]);
    links.remove(new);
    links.share();
    assert_eq!(touched(&links), [ids[0], ids[1]]);
    let after = ids.iter().map(|&id| links.rate(id).to_bits()).collect::<Vec<_>>();
    assert_eq!(before, after);
    // Link 2 connects the new flow to one on link 1, but it takes nothing from it.
    let new = add_all(&mut links, &[wish(1.0, 4.0, &[(2, 1.0)])])[0];
    assert_eq!(touched(&links), [new]);
}

/// The rates found by filling from scratch, as in the textbook: one stop after another, the nearest
/// first.
fn filled(capacities: &[f64], wishes: &[Wish]) -> Vec<f64> {
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

/// A flow to add, a flow to remove instead if there is one, and whether rates are computed before
/// the next change.
type Change = (Wish, Option<Index>, bool);

const MOST_FLOWS: usize = 12;

fn any_history() -> impl Strategy<Value = (Vec<f64>, Vec<Change>)> {
    (1..=8usize).prop_flat_map(|links| {
        let leaves = prop::option::weighted(0.4, any::<Index>());
        let change = (any_wish(links), leaves, prop::bool::weighted(0.8));
        (prop::collection::vec(amount(), links), prop::collection::vec(change, 1..40))
    })
}

/// The flows that exist when rates are computed.
#[derive(Default)]
struct Scene {
    present: Vec<(FlowId, Wish)>,
    /// Flows that were added or removed since rates were last computed.
    news: Vec<(FlowId, Wish)>,
}

impl Scene {
    fn wishes(&self) -> Vec<Wish> {
        self.present.iter().map(|(_, wish)| wish.clone()).collect()
    }

    /// The flows that any chain of common links connects to new or removed flows.
    fn reachable(&self) -> Vec<FlowId> {
        let mut found = self.news.clone();
        let mut looked_at = 0;
        while let Some((_, wish)) = found.get(looked_at).cloned() {
            looked_at += 1;
            let meets = |other: &Wish| {
                wish.uses.iter().any(|(id, a)| *a > 0.0 && other.coefficient(id.0 as usize) > 0.0)
            };
            for (id, other) in &self.present {
                if meets(other) && !found.iter().any(|(known, _)| known == id) {
                    found.push((*id, other.clone()));
                }
            }
        }
        found.into_iter().map(|(id, _)| id).collect()
    }
}

/// Makes the changes, and passes the scene to `see` each time that rates are computed.
fn replay(
    links: &mut Links,
    changes: &[Change],
    mut see: impl FnMut(&Links, &Scene) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut scene = Scene::default();
    for (wish, leaves, ask) in changes {
        let count = scene.present.len();
        match leaves {
            Some(index) if count > 0 => {
                let leaver = scene.present.remove(index.index(count));
                links.remove(leaver.0);
                scene.news.push(leaver);
            }
            _ if count < MOST_FLOWS => {
                let new = (links.add(wish.flow()), wish.clone());
                scene.present.push(new.clone());
                scene.news.push(new);
            }
            _ => {}
        }
        if *ask {
            links.share();
            see(links, &scene)?;
            scene.news.clear();
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_history_ends_as_if_filled_from_nothing((capacities, changes) in any_history()) {
        replay(&mut Links::new(&capacities), &changes, |links, scene| {
            let wishes = scene.wishes();
            let rates: Vec<f64> = scene.present.iter().map(|(id, _)| links.rate(*id)).collect();
            for (ours, plain) in rates.iter().zip(filled(&capacities, &wishes)) {
                prop_assert!((ours - plain).abs() <= CLOSE * plain, "{ours} is not {plain}");
            }
            check_fair(&capacities, &wishes, &rates)
        })?;
    }

    /// Someone who follows only the changes knows every rate, and hears of no flow that a change
    /// could not affect.
    #[test]
    fn what_changed_is_said_and_no_more((capacities, changes) in any_history()) {
        let mut known = [f64::NAN; MOST_FLOWS];
        replay(&mut Links::new(&capacities), &changes, |links, scene| {
            let reachable = scene.reachable();
            for (id, rate) in links.changed() {
                let is_new = scene.news.iter().any(|(new, _)| *new == id);
                prop_assert!(reachable.contains(&id), "{id:?} was touched");
                prop_assert!(is_new || known[id.index()] != rate, "{id:?} still has {rate}");
                known[id.index()] = rate;
            }
            for (id, _) in &scene.present {
                prop_assert_eq!(known[id.index()].to_bits(), links.rate(*id).to_bits());
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_same_changes_give_the_same_bits((capacities, changes) in any_history()) {
        let mut links = Links::new(&capacities);
        let bits = |links: &mut Links| {
            let mut bits = Vec::new();
            replay(links, &changes, |links, _| {
                bits.extend(links.changed().map(|(id, rate)| (id, rate.to_bits())));
                Ok(())
            })?;
            Ok::<_, TestCaseError>(bits)
        };
        let first = bits(&mut links)?;
        links.clear();
        prop_assert_eq!(&first, &bits(&mut links)?);
        prop_assert_eq!(&first, &bits(&mut Links::new(&capacities))?);
    }
}
