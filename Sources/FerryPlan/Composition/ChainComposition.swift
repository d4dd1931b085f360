internal import FerryBase
internal import FerryMapping

/// The steps of a chain, as many of them as one as can be.
struct ChainComposition {
    private(set) var steps: [StepPlan] = []

    /// - Parameters:
    ///   - singles: One step for each edge of the chain.
    ///   - executor: Who carries the rows of a composed step.
    ///   - composes: Whether what can be one becomes one; otherwise only the modes are those of the composed chain.
    init(_ singles: [StepPlan], executor: ExecutorChoice, composes: Bool) {
        var groups: [[StepPlan]] = []
        for single in singles {
            guard let before = steps.last else {
                steps.append(single)
                groups.append([single])
                continue
            }
            do throws(CompositionObstacle) {
                steps[steps.count - 1] = try Self.composed(before, single, executor)
                groups[groups.count - 1].append(single)
            } catch {
                var single = single
                single.isApartBecause = error.reason
                steps.append(single)
                groups.append([single])
            }
        }
        guard !composes else { return }
        steps = zip(steps, groups).flatMap { step, group in group.map { Self.part($0, of: step) } }
    }

    /// What makes a copy of one step makes a copy of the whole; what is done in place by parts is not copied as one.
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
            step.needsCopyBecause = copied.needsCopyBecause ?? "another step of the chain needs a copy"
        } else if let reason = step.obstacleInPlace() {
            throw CompositionObstacle("in one pass it could not be done in place (\(reason))")
        }
        return step
    }

    private static func part(_ part: StepPlan, of step: StepPlan) -> StepPlan {
        var part = part
        if part.isInferred, part.needsCopyBecause == nil { part.needsCopyBecause = step.needsCopyBecause }
        return part
    }
}
