internal import FerryBase
internal import FerryMapping

/// The steps of a chain, as many of them as one as can be.
struct ChainComposition {
    private(set) var steps: [StepPlan] = []

    /// - Parameters:
    ///   - singles: One step for each edge of the chain.
    ///   - executor: What carries the rows of a composed step.
    ///   - composes: Whether what can be one becomes one; otherwise only the modes are those of the composed chain.
    init(_ singles: [StepPlan], executor: ExecutorChoice, composes: Bool) {
        var groups: [[StepPlan]] = []
        var rest = singles[...]
        var reason: String?
        while var first = rest.first {
            first.isApartBecause = reason ?? first.isApartBecause
            let group = Group(first, rest.dropFirst(), executor)
            steps.append(group.step)
            groups.append(Array(rest.prefix(group.count)))
            rest = rest.dropFirst(group.count)
            reason = group.end
        }
        guard !composes else { return }
        steps = zip(steps, groups).flatMap { step, group in group.map { Self.part($0, of: step) } }
    }

    private static func part(_ part: StepPlan, of step: StepPlan) -> StepPlan {
        var part = part
        if part.isInferred, part.needsCopyBecause == nil { part.needsCopyBecause = step.needsCopyBecause }
        return part
    }
}

/// The longest run of steps, from one on, that can be one.
private struct Group {
    private(set) var step: StepPlan
    private(set) var count = 1
    /// Why the next step is not among them; nil at the end of the chain.
    private(set) var end: String?

    init(_ first: StepPlan, _ others: ArraySlice<StepPlan>, _ executor: ExecutorChoice) {
        step = first
        // What can be done in place in the end could be so all the way, as a rule: then one look is enough.
        if takeWhole(others, executor) { return }
        (step, count, end) = (first, 1, nil)
        for other in others {
            do throws(CompositionObstacle) {
                let next = try Self.composed(step, other, executor)
                if let obstacle = next.obstacleToOnePass() { throw obstacle }
                take(next)
            } catch {
                end = error.reason
                return
            }
        }
    }

    /// Composes as far as the mappings allow and looks only then whether that can be done in place.
    ///
    /// - Returns: False when it cannot; which of the steps are to blame is still to be found out.
    private mutating func takeWhole(_ others: ArraySlice<StepPlan>, _ executor: ExecutorChoice) -> Bool {
        for other in others {
            let next: StepPlan
            do throws(CompositionObstacle) {
                next = try Self.composed(step, other, executor)
            } catch {
                end = error.reason
                break
            }
            // From here on it is a copy; what is done in place by parts is not copied as one.
            if next.needsCopyBecause != nil, step.obstacleToOnePass() != nil { return false }
            take(next)
        }
        return step.obstacleToOnePass() == nil
    }

    private mutating func take(_ next: StepPlan) {
        step = next
        count += 1
    }

    /// What makes a copy of one step makes a copy of the whole.
    private static func composed(
        _ first: StepPlan, _ second: StepPlan, _ executor: ExecutorChoice
    ) throws(CompositionObstacle) -> StepPlan {
        var step = try Composition.compose(first, second)
        step.versions = first.versions + second.versions.dropFirst()
        step.isApartBecause = first.isApartBecause
        do throws(FerryError) {
            try step.split(executor)
        } catch {
            throw CompositionObstacle(error.message)
        }
        if let copied = [first, second].first(where: { $0.needsCopyBecause != nil || !$0.isInferred }) {
            step.needsCopyBecause = copied.needsCopyBecause ?? "a mapping model on the way makes objects anew"
        }
        return step
    }
}

extension StepPlan {
    /// Why steps that can be done in place one by one cannot be so in one pass.
    fileprivate func obstacleToOnePass() -> CompositionObstacle? {
        var layouts = AssumedLayouts()
        guard !parts.isEmpty, isInferred, needsCopyBecause == nil, let reason = obstacleInPlace(&layouts) else {
            return nil
        }
        return CompositionObstacle("in one pass it could not be done in place (\(reason))")
    }
}
