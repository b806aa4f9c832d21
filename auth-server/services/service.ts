/** Services and their credentials (docs/contract/services.md). Values alone. Knows no database. */

/** A service as administrators see it, without its secret. Times in milliseconds. */
export interface Service {
  readonly id: string
  /** Each service has another one. */
  readonly name: string
  /** The id of the resource server that it belongs to. */
  readonly resourceServer: string
  readonly createdAt: number
  /** Until when the secret before the last rotation is accepted too; null when there is none. */
  readonly formerUntil: number | null
  /** Moves in coarse steps. */
  readonly lastUsedAt: number | null
}

/** A request for a new service. */
export type ServiceRequest = Pick<Service, 'name' | 'resourceServer'>

/** A service, with the secret that is shown only now. */
export interface NewService {
  readonly service: Service
  readonly secret: string
}

/** How many services there can be at a time. Metrics count the requests of each. */
export const maxServices = 1_000
