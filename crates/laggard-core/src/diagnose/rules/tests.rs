use super::*;
use std::collections::BTreeSet;

#[test]
fn ids_are_unique_and_rules_stand_in_the_table_of_their_scope() {
    let ids: BTreeSet<&str> = all().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), all().count());
    for rule in all() {
        let scope = match rule.step {
            Step::Exceeds(_)
            | Step::Rare(_)
            | Step::Differs(_)
            | Step::Matters(_)
            | Step::Published
            | Step::Lasts => Scope::Window,
            Step::Cause(_) | Step::Reported(_) => Scope::Episode,
            Step::Part(_)
            | Step::Together(_)
            | Step::SharedCause(_)
            | Step::Told(_)
            | Step::Group(_)
            | Step::Judged(_)
            | Step::HasData(_)
            | Step::AllClear(_) => Scope::Site,
        };
        assert_eq!(rule.scope, scope, "{}", rule.id);
        assert_eq!(find(rule.id), Some(rule));
    }
}

#[test]
fn every_rule_has_a_sentence_and_an_origin_and_its_bounds_have_names() {
    for rule in all() {
        assert!(rule.sentence.ends_with('.') && rule.sentence.len() > 20, "{}", rule.id);
        assert!(!rule.origin.is_empty() && !rule.clause.is_empty(), "{}", rule.id);
        let names: BTreeSet<&str> = rule.bounds.iter().map(|bound| bound.name).collect();
        assert_eq!(names.len(), rule.bounds.len(), "{}", rule.id);
        assert!(rule.bounds.iter().all(|bound| bound.value.is_finite() && !bound.unit.is_empty()));
    }
}

#[test]
fn every_cause_is_named_by_a_rule() {
    for cause in Cause::ALL {
        assert!(all().any(|rule| rule.ruling.cause() == Some(*cause)), "{}", cause.name());
    }
}

#[test]
fn no_cause_is_a_fault_by_one_rule_and_none_by_another() {
    let observed: Vec<Cause> = Cause::ALL.iter().copied().filter(|cause| is_observation(*cause)).collect();
    assert_eq!(observed, [Cause::SingleLunWorkload, Cause::Load, Cause::EverybodySlow, Cause::SlowTogether]);
    let indicts = |cause: Cause| all().any(|rule| rule.ruling == Ruling::Indicts(Some(cause)));
    assert!(!observed.into_iter().any(indicts));
}
