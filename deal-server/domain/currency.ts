/**
 * ISO 4217 alphabetic codes in use whose minor unit has 0, 2 or 3 decimals. Funds codes and precious metals are left
 * out: they are no currencies of prices.
 */
const currencyCodes =
  `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
  COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS
  INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP
  MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR
  SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND
  VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG`.split(/\s+/)

const withoutMinorUnit = new Set('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '))
const withThousandths = new Set('BHD IQD JOD KWD LYD OMR TND'.split(' '))

/** ISO 4217 code → number of decimals of its minor unit (0, 2 or 3). */
export const currencyExponents: ReadonlyMap<string, number> = new Map(
  currencyCodes.map((code) => [code, withoutMinorUnit.has(code) ? 0 : withThousandths.has(code) ? 3 : 2]),
)

/** The number of decimals of a checked currency code. @throws TypeError for an unknown code */
export function exponentOf(currency: string): number {
  const exponent = currencyExponents.get(currency)
  if (exponent === undefined) throw new TypeError('not a currency code that passed the check')
  return exponent
}
